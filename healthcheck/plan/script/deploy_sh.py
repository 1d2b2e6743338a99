"""What can be read off the text of deploy.sh without running it: its shell, and on which line something stands."""

from __future__ import annotations

import bisect
import posixpath
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from healthcheck import contract
from healthcheck.repo import shell, shells

_SHEBANG = re.compile(r"#!\s*(\S+)\s*(.*)")
_CHANGES_FOLDER = {"cd", "pushd", "popd"}
_STOPS = re.compile(r"(?:^|[;&])\s*set\s+(?:[-+]?\w+\s+)*?([-+])(?:\w*e\w*|o\s+errexit)")
_GOES_ON = re.compile(r"\|\||^\s*(?:if|elif|while|until|!)\s")
_PROCESSOR = re.compile(r"\buname\s+-[mpi]\b|\$\(arch\)|`arch`")
_PROCESSOR_VARIABLE = re.compile(rf"\b(\w+)=[\"']?(?:\$\(|`)(?={_PROCESSOR.pattern}|arch\b)")
_VARIABLE = re.compile(r"\$\{?(\w+)")
_DECIDES = re.compile(
    r"(?:^|[;&|({!]|\b(?:then|do|else|if|elif|while|until)\b)\s*(?:if|elif|case|while|until|test|\[\[?)\s"
)
"""A word that decides, where a command begins."""
_WRITES = re.compile(r">|(?:tee|mkdir|touch|cp|mv)\b")
_ONLY_SAYS = re.compile(r"\s*(?:echo|printf)\s[^;&|<>`(]*$")
_KNOWN_SHELLS = {"sh", "bash", "dash", "zsh", "ksh", "mksh", "ash"}


def shebang(text: str) -> tuple[str, tuple[str, ...]] | None:
    """The interpreter's base name and its options ("bash", ("-e",)); None where the first line names none."""
    match = _SHEBANG.match(text.split("\n", 1)[0].rstrip("\r"))
    if match is None:
        return None
    words = [match[1], *match[2].split()]
    if words[0].rpartition("/")[2] == "env":
        words = [word for word in words[1:] if word not in {"-S", "-i"} and "=" not in word] or ["sh"]
    return words[0].rpartition("/")[2], tuple(words[1:])


def is_shell(name: str) -> bool:
    return name in _KNOWN_SHELLS


def find_line(text: str, needles: Sequence[str]) -> int | None:
    """The line (from 1) outside comments with the most of the needles, None where there is none."""
    best, found = 0, None
    for number, line in code_lines(text):
        score = sum(needle in line for needle in needles if needle)
        if score > best:
            best, found = score, number
    return found


def place(number: int | None) -> str:
    """A line of deploy.sh as findings name it ("deploy.sh:7"); "" for none."""
    return f"{contract.ENTRY_POINT}:{number}" if number else ""


def place_of(text: str, needles: Sequence[str]) -> str:
    """The line with the most of the needles as findings name it; "" if none has any."""
    return place(find_line(text, needles))


def code_lines(text: str) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(text.splitlines(), 1):
        if not line.lstrip().startswith("#"):
            yield number, line


def where_is(text: str, argv: Sequence[str]) -> str:
    """The line that a recorded command most likely comes from ("deploy.sh:7"), empty where it is not found."""
    words = [word for word in argv if len(word) > 1 and "/srv/" not in word]
    head = " ".join(argv[:2])
    number = find_line(text, [head, head, *words[:12]]) if words else None
    number = number or find_line(text, [".py", "python", ".sh", "make"])
    return place(number)


def folder_at(text: str, number: int, name: str) -> str:
    """The working directory at a line, from the `cd` commands before it; "" if it is unknown.

    What a subshell or a function changed does not count after it.
    """
    lines = text.splitlines(keepends=True)
    place = sum(map(len, lines[: number - 1])) + max(0, "".join(lines[number - 1 : number]).find(name))
    folders = _folders(text)
    return folders[bisect.bisect_left(folders, (place, "")) - 1][1]


@lru_cache(maxsize=1)
def _folders(text: str) -> tuple[tuple[int, str], ...]:
    """Where in the text the folder may change, and to which."""
    code = shell.read(text[: shells.MAX_SCRIPT_BYTES])
    tokens = [token for token in code.tokens if not token.depth]
    commands = {command.start: command.words for command in code.commands()}
    leaves: dict[str, str] = {}
    """The functions that change the folder, with the one in which they end."""
    folder, outer, found = "", [("", "", 0)], [(-1, "")]
    changes = 0
    for at, token in enumerate(tokens):
        words = commands.get(token.start, ())
        name = words[0].text if words else ""
        if name in _CHANGES_FOLDER:
            folder, changes = _entered(folder, words), changes + 1
        elif name in leaves and not _is_apart(tokens[at : at + len(words) + 8], words[-1]):
            folder, changes = leaves[name], changes + 1
        elif token.text in {"(", "{"}:
            function = _defined(tokens[max(0, at - 6) : at]) if token.text == "{" else ""
            outer.append((folder, function, changes))
        elif token.text == ")" and tokens[at - 1].kind is not shell.Kind.PATTERN and len(outer) > 1:
            folder, *_ = outer.pop()
        elif token.text == "}" and len(outer) > 1:
            around, function, before = outer.pop()
            if function and changes > before:
                leaves[function] = folder
            folder = around if function or around == folder else ""
        found.append((token.start, folder))
    return tuple(found)


def _defined(before: Sequence[shell.Token]) -> str:
    """The function whose body begins behind these tokens, "" where it is none."""
    words = [token.text for token in before if token.kind is not shell.Kind.NEWLINE]
    if words[-2:] == ["(", ")"]:
        return words[-3] if len(words) > 2 else ""
    return words[-1] if words[-2:-1] == ["function"] else ""


def _is_apart(tokens: Sequence[shell.Token], last: shell.Token) -> bool:
    """Whether the command that ends with this word runs in a shell of its own; `tokens` begin with it."""
    behind = next((token.text for token in tokens if token.start >= last.end), "")
    return behind in {"|", "|&", "&"}


def folder_line(text: str, folders: Sequence[str]) -> int | None:
    """The first line that names one of the folders, or something in it, and does more than to say so."""
    use = re.compile(_named(folders))
    lines = ((number, line) for number, line in code_lines(text) if folders and not _ONLY_SAYS.match(line))
    return next((number for number, line in lines if use.search(line)), None)


def makes_folder(text: str, folder: str) -> bool:
    """Whether deploy.sh itself makes the folder, or one in it."""
    named = re.compile(_named([folder]))
    parts = (part for _, line in code_lines(text) for part in re.split("[|;&]", line))
    return any(re.search(r"\bmkdir\b", part) and named.search(part) for part in parts)


def _named(folders: Sequence[str]) -> str:
    return rf"(?:^|[\s=:;&|(<>]|:-)[\"']?(?:{'|'.join(map(re.escape, folders))})(?![\w.-])"


def _entered(folder: str, words: Sequence[shell.Token]) -> str:
    name = words[-1].text.strip("\"'")
    placed = name.startswith("/") or (folder and not name.startswith(("-", "~")))
    known = len(words) > 1 and words[0].text != "popd" and not set("$`*") & set(name)
    return posixpath.normpath(posixpath.join(folder, name)) if placed and known else ""


def stops_at_errors(text: str, place: str = "") -> bool:
    """Whether a command that fails ends the script (`set -e`): at a place such as "deploy.sh:7", else anywhere."""
    line = place.rpartition(":")[2]
    number = int(line) if line.isdigit() else 0
    if number and _GOES_ON.search(_joined_line(text, number)):
        return False
    stops = "e" in "".join(_shell_options(text))
    for at, code in code_lines(text):
        for match in _STOPS.finditer(code) if not number or at <= number else ():
            stops = match[1] == "-" or (stops and not number)
    return stops


def _joined_line(text: str, number: int) -> str:
    """A line with those that backslashes join to it."""
    lines = text.splitlines()
    first = last = min(number, len(lines)) - 1
    while first > 0 and lines[first - 1].endswith("\\"):
        first -= 1
    while last + 1 < len(lines) and lines[last].endswith("\\"):
        last += 1
    return "\n".join(lines[first : last + 1])


def _shell_options(text: str) -> tuple[str, ...]:
    found = shebang(text)
    return tuple(word for word in found[1] if re.fullmatch(r"-[a-z]+", word)) if found else ()


def processor_line(text: str) -> int | None:
    """The first line that decides by the kind of processor (`uname -m`, itself or in a variable)."""
    names: set[str] = set()
    for number, line in code_lines(text):
        if (_PROCESSOR.search(line) or names & set(_VARIABLE.findall(line))) and _DECIDES.search(line):
            return number
        names |= {match[1] for match in _PROCESSOR_VARIABLE.finditer(line)}
    return None


def line_at(text: str, number: int) -> str:
    lines = text.splitlines()
    return lines[number - 1].strip() if 0 < number <= len(lines) else ""


def unquoted_line(text: str, variable: str) -> int | None:
    """The first line that uses the variable outside double quotes, assignments apart."""
    use = re.compile(rf"\$(?:\{{{variable}\b[^}}]*\}}|{variable}\b)")
    for number, line in code_lines(text):
        for match in use.finditer(line):
            before = line[: match.start()]
            quoted = before.replace('\\"', "").count('"') % 2 == 1
            assigned = re.search(r"(?:^|[\s;])\w+=\S*$", before) is not None
            if not quoted and not assigned:
                return number
    return None


def built_line(text: str, variable: str) -> int | None:
    """The first line that writes the variable between other words of a command into another variable."""
    use = rf"\$(?:\{{{variable}\}}|{variable}\b)"
    built = re.compile(rf"(?:^|[\s;])\w+\+?=(?:\"[^\"]*(?:\s{use}|{use}[\"']*\s)|'[^']*\s[\"]?{use})")
    return next((number for number, line in code_lines(text) if built.search(line)), None)


def overwriting_line(text: str, variable: str) -> int | None:
    """The first line that gives the variable a value which is not made of it."""
    given = re.compile(rf"^\s*(?:export\s+|readonly\s+|declare\s+(?:-\w+\s+)*)?{variable}=(.*)$")
    use = re.compile(rf"\$\{{?{variable}\b")
    found = ((number, given.match(line)) for number, line in code_lines(text))
    return next((number for number, match in found if match and not use.search(match[1])), None)


def ending_lines(text: str, behind: int, status: int) -> tuple[int, ...]:
    """The lines behind a line that end a script with the status (`exit 0`)."""
    ends = re.compile(
        rf"(?:^|[;&|{{]|\b(?:then|do|else))\s*exit(?:\s+{status}{'|' if status == 0 else ''})\s*(?:[;}}#].*)?$"
    )
    return tuple(number for number, line in code_lines(text) if number > behind and ends.search(line))


def argument_line(text: str) -> int | None:
    """The first line that uses a positional parameter without a default, or their number, outside functions."""
    return _outside_functions(text, re.compile(r"\$(?:[1-9]\b|\{[1-9](?::?-)?\}|\{[1-9]:?\?|#|\{#\})"))


def empty_line(text: str) -> tuple[str, int]:
    """What leaves a value empty that deploy.sh uses: ("an argument", line), ("input", line), or ("", 0)."""
    argument = _outside_functions(text, re.compile(r"\$(?:[1-9]\b|\{[1-9]\})"))
    asked = _outside_functions(text, re.compile(r"^\s*read\s(?!.*(?:<|\bdo\b))"))
    return ("an argument", argument) if argument else ("input from a terminal", asked) if asked else ("", 0)


def uses_all_arguments(text: str, number: int) -> bool:
    """Whether a line outside functions uses "$@" or "$*"."""
    use = re.compile(r"\$\{?[@*]")
    return any(at == number and use.search(line) for at, line in _lines_outside_functions(text))


def _outside_functions(text: str, use: re.Pattern[str]) -> int | None:
    return next((number for number, line in _lines_outside_functions(text) if use.search(line)), None)


def _lines_outside_functions(text: str) -> Iterator[tuple[int, str]]:
    depth = 0
    for number, line in code_lines(text):
        opens = re.match(r"\s*(?:function\s+\w+|\w+\s*\(\))", line)
        if opens and re.search(r"\}\s*$", line):
            continue
        depth += 1 if opens else 0
        if not depth:
            yield number, line
        if depth and line.strip() == "}":
            depth -= 1


def required_variable(text: str, said: str) -> tuple[str, int]:
    """A variable that deploy.sh tests for and that its last words name; ("", 0) where there is none."""
    test = re.compile(r"(?:-[nz]\s+\"?\$\{?|\$\{)([A-Z][A-Z0-9_]+)")
    for number, line in code_lines(text):
        for name in test.findall(line):
            if name != "MODEL_PATH" and name in said and not has_value(text, name):
                return name, number
    return "", 0


def has_value(text: str, name: str) -> bool:
    """Whether deploy.sh gives the variable a value or a default itself."""
    given = re.compile(rf"\$\{{{name}:?[-=]|(?:^|[\s;&|({{]){name}=|\bread\s[^;&|<]*\b{name}\b|\bfor\s+{name}\b")
    return any(given.search(line) for _, line in code_lines(text))


def is_written(text: str, name: str) -> bool:
    """Whether deploy.sh itself writes a file of that name."""
    base = name.rpartition("/")[2]
    writes = (_WRITES.search(part) for part in re.split(r"[|;&\n]", text))
    return any(base in match.string[match.end() :] for match in writes if match)
