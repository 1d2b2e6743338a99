"""Finds lines and their meaning in the text of deploy.sh, without executing it."""

from __future__ import annotations

import bisect
import posixpath
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from healthcheck import contract
from healthcheck.stages.repo import shell
from healthcheck.stages.repo.shell import Node, Word
from healthcheck.text.messages import msg

_ONLY_SAYS = re.compile(r"\s*(?:echo|printf)\s[^;&|<>`(]*$")
_PRESENT = re.compile(r"-[nz]\s+\"?$")
_BACKGROUND = re.compile(r"[ \t]*&(?!&)")
_CHANGES_FOLDER = {"cd", "pushd", "popd"}
_OWN_SHELL = {
    "subshell",
    "pipeline",
    "command_substitution",
    "process_substitution",
    "function_definition",
}
_BODIES = {
    "compound_statement",
    "do_group",
    "subshell",
    "function_definition",
    "command_substitution",
}
_WRITES = {"tee", "mkdir", "touch", "cp", "mv"}
_EXPANSIONS = ("simple_expansion", "expansion")
_VALUES = {":-", "-", ":=", "="}
_FEEDS = (
    "redirected_statement",
    "pipeline",
    "for_statement",
    "while_statement",
    "function_definition",
)
_DIGITS = frozenset("123456789")
_BEFORE_A_PROGRAM = {"exec", "nohup", "setsid", "env", "time", "command"}


def runs(text: str, program: str) -> bool:
    """Whether a command of the script starts a program, not only asks for it."""
    for node in shell.read(text).of("command"):
        words = [child.text for child in node.children if child.kind in {"command_name", "word"}]
        while words and words[0] in _BEFORE_A_PROGRAM:
            words = words[1:]
        if words[:1] == [program]:
            return True
    return False


def find_line(text: str, needles: Sequence[str]) -> int | None:
    """The line (from 1) outside comments with most of the needles, None if no line has any."""
    best, found = 0, None
    for number, line in code_lines(text):
        score = sum(needle in line for needle in needles if needle)
        if score > best:
            best, found = score, number
    return found


def place(number: int | None) -> str:
    """The place of a line in a finding ("deploy.sh:7"); "" for none."""
    return f"{contract.ENTRY_POINT}:{number}" if number else ""


def line_number(place: str) -> int:
    """The number of a place of deploy.sh ("deploy.sh:7"); 0 for another place, or none."""
    file, _, line = place.partition(":")
    return int(line) if file == contract.ENTRY_POINT and line.isdigit() else 0


def place_of(text: str, needles: Sequence[str]) -> str:
    """The place of the line with most of the needles; "" if no line has any."""
    return place(find_line(text, needles))


def code_lines(text: str) -> Iterator[tuple[int, str]]:
    """The lines without comments, numbered from 1."""
    return enumerate(shell.read(text).without("comment").split("\n"), 1)


def where_is(text: str, argv: Sequence[str]) -> str:
    """The most likely place of a recorded command ("deploy.sh:7"); "" if not found."""
    words = [word for word in argv if len(word) > 1 and "/srv/" not in word]
    head = " ".join(argv[:2])
    number = find_line(text, [head, head, *words[:12]]) if words else None
    number = number or find_line(text, [".py", "python", ".sh", "make"])
    return place(number)


def folder_at(text: str, number: int, name: str) -> str:
    """The working directory at a line, from the `cd` commands before it; "" if unknown.

    Changes in a subshell or in the body of a function do not count after its end.
    """
    lines = text.splitlines(keepends=True)
    place = sum(map(len, lines[: number - 1])) + max(
        0, "".join(lines[number - 1 : number]).find(name)
    )
    folders = _working_directories(text)
    return folders[bisect.bisect_left(folders, (place, "")) - 1][1]


@lru_cache(maxsize=1)
def _working_directories(script_text: str) -> tuple[tuple[int, str], ...]:
    """Offsets where the working directory may change, with the new directory."""
    script = shell.read(script_text)
    commands = {command.node: command.words for command in script.commands()}
    leaves: dict[str, str] = {}
    """The functions that change the working directory, with the directory after them."""
    found = [(-1, "")]

    def after(node: Node, folder: str) -> str:
        """The working directory after a node; `folder` is the one before."""
        name, end = node.name if node in commands else "", folder
        if name in _CHANGES_FOLDER:
            end = _entered(folder, commands[node])
        elif name in leaves and not _BACKGROUND.match(script_text, node.end):
            end = leaves[name]
        for child in node.children:
            end = after(child, end)
        if node.kind == "function_definition" and end != folder:
            leaves[node.name] = end
        elif node.kind == "compound_statement" and node.role != "body" and end != folder:
            end = ""  # a group, which may depend on a condition
        if node.kind in _OWN_SHELL:
            end = folder
        found.append((node.end, end))
        return end

    after(script.nodes[0], "")
    return tuple(sorted(found, key=lambda each: each[0]))


def folder_line(text: str, folders: Sequence[str]) -> int | None:
    """The first line that uses one of the folders or something in it, and does not only print it."""
    use = _named(folders)
    lines = (
        (number, line)
        for number, line in code_lines(text)
        if folders and not _ONLY_SAYS.match(line)
    )
    return next((number for number, line in lines if use.search(line)), None)


def makes_folder(text: str, folder: str) -> bool:
    """Whether deploy.sh itself creates the folder, or one in it."""
    named = _named([folder])
    return any(
        named.search(word.text)
        for command in shell.read(text).runs("mkdir")
        for word in command.words
    )


def _named(folders: Sequence[str]) -> re.Pattern[str]:
    return re.compile(
        rf"(?:^|[\s=:;&|(<>]|:-)[\"']?(?:{'|'.join(map(re.escape, folders))})(?![\w.-])"
    )


def _entered(folder: str, words: Sequence[Word]) -> str:
    name = words[-1].text.strip("\"'")
    placed = name.startswith("/") or (folder and not name.startswith(("-", "~")))
    known = len(words) > 1 and words[0].text != "popd" and not set("$`*") & set(name)
    return posixpath.normpath(posixpath.join(folder, name)) if placed and known else ""


def stops_at_errors(text: str, place: str = "") -> bool:
    """Whether a failing command ends the script (`set -e`), at a place such as "deploy.sh:7" or anywhere."""
    line = place.rpartition(":")[2]
    number = int(line) if line.isdigit() else 0
    script = shell.read(text)
    commands = script.of("command", "test_command") if number else ()
    if any(
        script.line(node.start) <= number <= script.line(node.end) and _is_tested(node)
        for node in commands
    ):
        return False
    stops = any(option[0] == "-" and "e" in option for option in shell.shebang(text)[1])
    for command in script.runs("set"):
        for sign in (
            _errexit(command.words) if not number or script.line(command.start) <= number else ()
        ):
            stops = sign == "-" or (stops and not number)
    return stops


def ends_on_failure(text: str, place: str) -> bool:
    """Whether a failing command ends the script: by `set -e`, or by an `exit` in what tests it (`|| exit 1`)."""
    if stops_at_errors(text, place):
        return True
    number, script = line_number(place), shell.read(text)
    commands = (
        node
        for node in script.of("command")
        if script.line(node.start) <= number <= script.line(node.end)
    )
    around = (
        above
        for node in commands
        for above in node.around()
        if above.kind in {"list", "if_statement"}
    )
    return any(node.name == "exit" for above in around for node in above.below("command"))


def _errexit(words: Sequence[Word]) -> Iterator[str]:
    """The sign of each errexit option: "-" switches it on, "+" off."""
    options = [word.text for word in words[1:]]
    for option, after in zip(options, [*options[1:], ""], strict=True):
        if option[0] in "-+" and ("e" in option or (option[1:] == "o" and after == "errexit")):
            yield option[0]


def _is_tested(node: Node) -> bool:
    """Whether the script continues if the command fails."""
    for around in (node, *node.around()):
        if around.kind in _BODIES:
            return False
        if around.kind == "negated_command" or around.role == "condition":
            return True
        if around.kind == "list" and around.has("||"):
            return True
    return False


def processor_line(text: str) -> int | None:
    """The first line that branches on the kind of processor (`uname -m`, directly or through a variable)."""
    script = shell.read(text)
    names: set[str] = set()
    for node in script.nodes:
        asks = any(_asks_for_processor(command) for command in node.below("command"))
        if node.kind == "variable_assignment" and asks:
            names.add(node.name)
        elif _decides(node) and (asks or names & {each.name for each in node.below(*_EXPANSIONS)}):
            return script.line(node.start)
    return None


def _asks_for_processor(command: Node) -> bool:
    options = {each.text for each in command.children}
    return command.name == "arch" or (
        command.name == "uname" and not options.isdisjoint(("-m", "-p", "-i"))
    )


def _decides(node: Node) -> bool:
    """Whether the node is a condition or the value of a case statement."""
    chosen = node.role == "value" and any(
        around.kind == "case_statement" for around in list(node.around())[:1]
    )
    return chosen or node.role == "condition" or node.kind == "test_command" or node.name == "test"


def line_at(text: str, number: int) -> str:
    lines = text.split("\n")
    return lines[number - 1].strip() if 0 < number <= len(lines) else ""


def overwriting_line(text: str, variable: str) -> int | None:
    """The first line that overwrites the variable with a value that does not contain it."""
    given = (node for node in shell.read(text).of("variable_assignment") if node.name == variable)
    always = (node for node in given if node.parent and node.parent.kind not in {"list", "command"})
    others = (
        node for node in always if all(each.name != variable for each in node.below(*_EXPANSIONS))
    )
    return _line_of(text, others)


def ending_lines(text: str, behind: int, status: int) -> tuple[int, ...]:
    """The lines after line `behind` that end the script with the status (`exit 0`)."""
    script = shell.read(text)
    ends = ([str(status)],) if status else (["0"], [])
    exits = (
        each for each in script.runs("exit") if [word.value for word in each.words[1:]] in ends
    )
    return tuple(line for line in (script.line(each.start) for each in exits) if line > behind)


def is_repeated(text: str, place: str) -> bool:
    """Whether the command at a place such as "deploy.sh:7" is in the body of a `while` or `until` loop."""
    script, line = shell.read(text), place.rpartition(":")[2]
    at = (node for node in script.of("command") if str(script.line(node.start)) == line)
    loops = (around for node in at for around in node.around() if around.kind == "do_group")
    return any(loop.parent is not None and loop.parent.kind == "while_statement" for loop in loops)


@dataclass(frozen=True, slots=True)
class Sleep:
    """A `sleep` in deploy.sh: its line, and its length; None if a variable has it.

    Attributes:
        beside: it is in the background, where it delays nothing.
    """

    line: int
    seconds: float | None
    beside: bool


def sleeps(text: str) -> tuple[Sleep, ...]:
    """Each `sleep` of deploy.sh, in the order of the text."""
    script = shell.read(text)
    return tuple(
        Sleep(
            line=script.line(command.start),
            seconds=_duration_s([word.value for word in command.words[1:]]),
            beside=_in_background(command.node),
        )
        for command in script.runs("sleep")
    )


def _duration_s(words: Sequence[str]) -> float | None:
    """The sum of the durations, as coreutils' sleep adds them up."""
    amounts = [re.fullmatch(r"(\d{1,9}(?:\.\d{1,9})?)([smhd]?)", word) for word in words]
    if not all(amounts):
        return None
    units = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}
    return sum(float(amount[1]) * units[amount[2]] for amount in amounts if amount)


def _in_background(node: Node) -> bool:
    for each in (node, *node.around()):
        after = (
            [one.kind for one in each.parent.children if one.start >= each.end]
            if each.parent
            else []
        )
        if after[:1] == ["&"]:
            return True
    return False


def argument_line(text: str) -> int | None:
    """The first line outside functions that uses a positional parameter without a default, or their number."""
    return _line_of(text, (node for node in _arguments(text) if node.name not in {"@", "*"}))


def empty_line(text: str) -> tuple[str, int]:
    """What leaves a value empty ("an argument" or "input from a terminal"), and the line; ("", 0) if nothing."""
    argument = _line_of(
        text, (node for node in _arguments(text) if node.text.strip("${}").isdigit())
    )
    asked = (each.node for each in shell.read(text).runs("read") if not each.node.inside(*_FEEDS))
    if argument:
        return msg("an argument"), argument
    line = _line_of(text, asked)
    return (msg("input from a terminal"), line) if line else ("", 0)


def uses_all_arguments(text: str, number: int) -> bool:
    """Whether a line outside functions uses "$@" or "$*"."""
    line = shell.read(text).line
    return any(node.name in {"@", "*"} and line(node.start) == number for node in _arguments(text))


def _arguments(text: str) -> Iterator[Node]:
    """Uses of positional parameters outside functions and without a default."""
    for node in shell.read(text).of(*_EXPANSIONS):
        name = node.name
        given = (
            any(each.role == "" and each.kind in _VALUES for each in node.children)
            and len(node.children) > 4
        )
        if (
            (name in {"@", "*", "#"} or name in _DIGITS)
            and not given
            and not node.inside("function_definition")
        ):
            yield node


def tested_variables(text: str) -> Iterator[tuple[str, int]]:
    """The variables that deploy.sh tests but never sets or gives a default, with the line."""
    script = shell.read(text)
    nodes = script.of("variable_assignment", "for_statement", "expansion")
    given = {node.name for node in nodes if node.kind != "expansion" or node.has(*_VALUES)}
    given |= {contract.MODEL_PATH_VARIABLE}
    given |= {word.value for command in shell.read(text).runs("read") for word in command.words}
    for node in script.of(*_EXPANSIONS):
        name, before = node.name, text[max(0, node.start - 40) : node.start]
        tested = node.kind == "expansion" or _PRESENT.search(before)
        if tested and name.isupper() and name not in given:
            yield name, script.line(node.start)


def is_written(text: str, name: str) -> bool:
    """Whether deploy.sh itself writes a file of that name."""
    base = name.rpartition("/")[2]
    into = (
        node.text
        for node in shell.read(text).of("file_redirect")
        if node.has(">", ">>", "&>", ">|")
    )
    by = (word.text for command in shell.read(text).runs(*_WRITES) for word in command.words[1:])
    return any(base in each for each in (*into, *by))


def _line_of(text: str, nodes: Iterator[Node]) -> int | None:
    script = shell.read(text)
    return next((script.line(node.start) for node in nodes), None)
