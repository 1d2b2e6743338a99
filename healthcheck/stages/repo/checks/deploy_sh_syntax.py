"""repo/deploy-sh-syntax: a shell can parse deploy.sh, and reads it as its author intended."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass

from healthcheck import contract
from healthcheck.core.check import Findings, NotApplicable, by_profile, check, fail, unsettled, warn
from healthcheck.core.commands import file_words
from healthcheck.core.edits import in_words, inserted_below, replaced, without_lines
from healthcheck.core.records import Edit
from healthcheck.stages.repo import bashisms, shell, shells
from healthcheck.stages.repo.records import Submission
from healthcheck.stages.repo.shell import Command, Script
from healthcheck.text.messages import joined, msg

BOM = b"\xef\xbb\xbf"
WIDE_MARKS = (b"\xff\xfe", b"\xfe\xff")
_ALMOST_A_SHELL = re.compile(r"#!\s*\S*\b(?:ba|da|a)?sh\b")
POSIX_SHELLS = {"sh", "dash", "ash", "busybox"}
BASH = {"bash", "rbash"}
OTHER_SHELLS = {"zsh", "ksh", "mksh", "fish", "csh", "tcsh"}
TYPOGRAPHIC = re.compile(
    "[\u00a0\u2002-\u200b\u3000\ufeff\u2018\u2019\u201c\u201d]|^[\u2013\u2014\u2212]"
)
_SERVER = re.compile(r"\bvllm\b|api_server|launch_server")
_BLANK_BEHIND = re.compile(r"(?<!\\)(?:\\\\)*\\[ \t]+$", re.MULTILINE)
MAX_LISTED = 6
MAX_EDITED_LINES = 2000
SHEBANG = "#!/bin/bash"
_PLAIN_SIGNS = {
    "\u2018": "'",
    "\u2019": "'",
    "\u201c": '"',
    "\u201d": '"',
    "\u200b": "",
    "\ufeff": "",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Text:
    """deploy.sh as a shell would read it, without byte order mark and with LF line endings."""

    submission: Submission
    data: bytes
    script: Script
    interpreter: str

    def where(self, line: int) -> str:
        return f"{contract.ENTRY_POINT}:{line}" if line else contract.ENTRY_POINT

    def quoted(self, line: int) -> str:
        lines = self.script.text.split("\n")
        quoted = lines[line - 1].strip()[:120] if 0 < line <= len(lines) else ""
        return f"“{quoted}”" if quoted else ""

    def is_comment(self, line: int) -> bool:
        return self.script.text.split("\n")[line - 1].lstrip().startswith("#")

    def parse(self, shell: str) -> shells.Parse | None:
        return next((each for each in self.submission.parses if each.shell == shell), None)


@check(
    "repo/deploy-sh-syntax",
    msg("A shell reads deploy.sh as intended"),
    rule=contract.STARTS_THE_SERVICE,
    why=msg(
        "A script that the shell misreads stops, or runs other commands than its author intended."
    ),
    requires=("repo/deploy-sh-present",),
)
def deploy_sh_syntax(submission: Submission) -> Findings:
    r"""The shells' parsers read deploy.sh (`bash -n`, `dash -n`; nothing runs), and the kit inspects its bytes.

    Failures: a syntax error in the shell that the first line names; Windows line endings, which become part of
    words; a byte order mark or UTF-16; a space after a line's final backslash, which is an argument of the command;
    a first line that does not name a shell; options of another command than the server's on a line of their own;
    syntax that dash (the sh of Debian and Ubuntu images) refuses, under
    #!/bin/sh.

    Warnings: no #! line; no executable bit; options of the server behind a comment or a line without a backslash:
    it is launched without them, and the checks of the plan judge that launch; bash syntax
    (arrays, [[ ]], source) in a script that the service may run with `sh deploy.sh`, since its shell is not
    documented. A script that needs bash can start with: [ -n "${BASH_VERSION:-}" ] || exec bash "$0" "$@"

    `npu-adapter verify --fix` makes the repairs that are exact: line ends, the byte order mark, the executable bit,
    spaces after a backslash, the first line, and the line that has bash run the script.

    Example:
    ```sh deploy.sh
    #!/bin/bash
    exec vllm serve "$MODEL_PATH" \
      # the service's port
      --port {port}
    ```

    Use instead:

    ```sh deploy.sh
    #!/bin/bash
    # the service's port
    exec vllm serve "$MODEL_PATH" \
      --port {port}
    ```
    """
    data, name = submission.deploy_sh, contract.ENTRY_POINT
    if not data:
        raise NotApplicable(msg("there is no {name} to read", name=name))
    yield from _bytes(data)
    if b"\0" in data or data.startswith(WIDE_MARKS):
        return
    if len(data) > shells.MAX_SCRIPT_BYTES:
        expected = msg(
            "a script of at most {max_script_bytes} KiB",
            max_script_bytes=shells.MAX_SCRIPT_BYTES // 1024,
        )
        fix = msg("keep only the launch in {name}, and put data into other files", name=name)
        yield warn(
            expected=expected,
            seen=msg("{name} is longer; its syntax was not read", name=name),
            fix=fix,
        )
        return
    text = _text(submission, data)
    for judge in (
        _line_ends,
        _first_line,
        _mode,
        _parsers,
        _constructs,
        _continuations,
        _typography,
    ):
        yield from judge(text)


def _text(submission: Submission, data: bytes) -> _Text:
    clean = data.removeprefix(BOM).decode("utf-8", "replace").replace("\r\n", "\n")
    interpreter, _ = shell.shebang(clean)
    return _Text(
        submission=submission, data=data, script=shell.read(clean), interpreter=interpreter
    )


def _bytes(data: bytes) -> Findings:
    line, name = 1, contract.ENTRY_POINT
    fix: str
    if data.startswith(WIDE_MARKS) or (b"\0" in data and data.count(b"\0") > len(data) // 4):
        expected = msg("a script in UTF-8 without byte order mark")
        seen = msg(
            "{name} is UTF-16: it begins with the bytes {bytes}", name=name, bytes=data[:4].hex(" ")
        )
        fix = msg("write {name} in UTF-8", name=name)
        command = f"iconv -f UTF-16 -t UTF-8 {name} > d && mv d {name} && chmod +x {name}"
    elif b"\0" in data:
        line = data.count(b"\n", 0, data.index(b"\0")) + 1
        expected, seen = (
            msg("a text file"),
            msg("{name} has a NUL byte: it is binary, or damaged", name=name),
        )
        fix, command = msg("write it as a text file"), ""
    elif data.startswith(BOM):
        expected, fix = msg("“#!” as the first two bytes"), ""
        command = f"sed -i '1s/^\\xef\\xbb\\xbf//' {name}"
        seen = msg(
            "a byte order mark (ef bb bf) before them: the kernel finds no interpreter, and a shell runs the "
            "first line as a command"
        )
    else:
        return
    edits = (
        (Edit(file=name, line=1, old="\ufeff"),)
        if data.startswith(BOM) and b"\0" not in data
        else ()
    )
    yield fail(
        expected=expected, seen=seen, fix=fix, command=command, where=f"{name}:{line}", edits=edits
    )


def _line_ends(text: _Text) -> Findings:
    data, name = text.data, contract.ENTRY_POINT
    mended = f"sed -i 's/\\r$//' {name}"
    kept = f"{mended} && printf '\\n%s\\n' '*.sh text eol=lf' >> .gitattributes"
    ending = [number for number, line in enumerate(data.split(b"\n"), 1) if line.endswith(b"\r")]
    harmful = [number for number in ending if number == 1 or not text.is_comment(number)]
    say, expected, line = fail, msg("lines that end in LF"), 1
    if b"\r" in data and b"\n" not in data:
        seen = msg("lines that end in a single carriage return: a shell reads one line")
        command = f"tr '\\r' '\\n' < {name} > d && mv d {name} && chmod +x {name}"
    elif harmful:
        git = f" && git add {name} .gitattributes && git commit -m 'End lines in LF'"
        line, command = harmful[0], kept + (git if text.submission.commit else "")
        seen = msg(
            "{n} lines end in CRLF: the carriage return becomes part of the last word of each line, "
            "and “#!/bin/sh\\r” names no program",
            n=len(ending),
        )
    elif ending:
        say, line, command = warn, ending[0], mended
        seen = msg("comment lines that end in CRLF")
    elif b"\r" not in data and text.submission.copy_has_crlf:
        say, line, command = warn, 0, kept
        expected = msg("lines that end in LF, in the working copy and in the commit")
        seen = msg(
            "{name} has LF in the commit and CRLF in the working copy: a copied or mounted working copy "
            "does not run",
            name=name,
        )
    else:
        return
    edits = (
        tuple(Edit(file=name, line=number, old="\r") for number in ending) if b"\n" in data else ()
    )
    yield say(
        expected=expected,
        seen=seen,
        fix=msg("end the lines of {file} in LF", file=name),
        command=command,
        where=text.where(line),
        edits=edits if len(edits) <= MAX_EDITED_LINES else (),
    )


def _first_line(text: _Text) -> Findings:
    first, shell, name = text.script.text.split("\n", 1)[0], text.interpreter, contract.ENTRY_POINT
    say, seen, rule = warn, f"“{first[:80]}”", None
    edits: tuple[Edit, ...] = ()
    if not first.startswith("#!"):
        expected = msg("a first line that names the shell, such as #!/bin/bash")
        seen, edits = msg("the first line is “{first}”", first=first[:80]), _with_shebang(text)
        fix = in_words(edits)
    elif shell in OTHER_SHELLS:
        expected, fix = (
            msg("sh or bash"),
            msg("write the script for bash, with the first line #!/bin/bash"),
        )
        seen = msg(
            "“{first}”: the image may lack {interpreter}, and `bash {name}` would not use it",
            first=first[:80],
            interpreter=shell,
            name=name,
        )
    elif shell not in POSIX_SHELLS | BASH:
        say, expected, rule = fail, msg("a shell script"), contract.WEIGHTS_FROM_MODEL_PATH
        starts = msg(
            "make {name} a shell script that starts the other program: exec python3 launch.py",
            name=name,
        )
        edits = (_first_line_replaced(text),) if _ALMOST_A_SHELL.match(first) else ()
        fix = in_words(edits) or starts
    elif re.match(r"#![ \t]*\S*/env[ \t]+[^\s-]\S*[ \t]+\S", first):
        expected = msg("one word after env, which reads the rest of the line as one name")
        fix = msg("write #!/bin/bash, and put the options into a “set” line below")
    else:
        return
    yield say(expected=expected, seen=seen, fix=fix, where=text.where(1), rule=rule, edits=edits)


def _with_shebang(text: _Text) -> tuple[Edit, ...]:
    """Name bash in the first line; blank lines above a line that does it are removed."""
    lines = text.script.text.split("\n")
    named = next((number for number, line in enumerate(lines, 1) if line.strip()), 1)
    if named > 1 and lines[named - 1].startswith("#!"):
        return (without_lines(contract.ENTRY_POINT, text.script.text, 1, named - 1),)
    return (inserted_below(contract.ENTRY_POINT, 0, SHEBANG),)


def _first_line_replaced(text: _Text) -> Edit:
    first = text.script.text.split("\n", 1)[0]
    options = shell.shebang(first)[1] if text.interpreter in POSIX_SHELLS else ()
    return replaced(
        contract.ENTRY_POINT, text.script.text, 0, len(first), " ".join((SHEBANG, *options))
    )


def _in_bash(text: _Text) -> tuple[Edit, ...]:
    """Have bash run the script, whichever shell was asked to; () if the first line is not that of a shell."""
    below = inserted_below(contract.ENTRY_POINT, 1, bashisms.IN_BASH)
    if text.interpreter in BASH:
        return (below,)
    return (_first_line_replaced(text), below) if text.interpreter in POSIX_SHELLS else ()


def _mode(text: _Text) -> Findings:
    mode, name = text.submission.deploy_sh_mode, contract.ENTRY_POINT
    if mode is not None and not mode & 0o111:
        file = posixpath.normpath(text.submission.deploy_sh_link or name)
        path = file_words(file)
        chmod = f"chmod +x {path}"
        # Both: a file system may lack the bit, and the next git commit -a would undo it in the index alone.
        git = f"git update-index --chmod=+x {path} && git commit -m 'Make {name} executable'"
        expected = msg("the executable bit, which ./deploy.sh needs")
        edits = (
            () if text.submission.deploy_sh_link else (Edit(file=name, line=0, executable=True),)
        )
        yield warn(
            expected=expected,
            seen=msg("mode {mode:o}", mode=mode),
            fix=msg("make {file} executable", file=file),
            command=f"{chmod} && {git}" if text.submission.commit else chmod,
            where=file,
            edits=edits,
        )


def _parsers(text: _Text) -> Findings:
    """A syntax error in the script's own shell fails; `_constructs` judges one in the other shell."""
    own = "bash" if text.interpreter in BASH or not text.interpreter else "dash"
    broken = next((parse for parse in text.submission.parses if parse.accepted is None), None)
    if broken:
        expected = msg("an answer from the shell's parser")
        seen = f"{broken.shell} -n {contract.ENTRY_POINT} {broken.message}"
        yield unsettled(expected=expected, seen=seen, fix=msg("simplify the script"))
    bash, dash = text.parse("bash"), text.parse("dash")
    parse = text.parse(own) or bash or dash
    if parse is None or text.interpreter not in POSIX_SHELLS | BASH | {""}:
        return
    if parse.accepted is False and not (
        own == "dash" and bashisms.runs_itself_in_bash(text.script)
    ):
        expected = msg("a script that {own} can read", own=own)
        quote = text.quoted(parse.line)
        seen = msg(
            "{shell} says: {message}{line}",
            shell=parse.shell,
            message=parse.message,
            line=f" {quote}" if quote else "",
        )
        fix = msg(
            "fix that line until `{own} -n {name}` prints nothing",
            own=own,
            name=contract.ENTRY_POINT,
        )
        if "end of file" in parse.message.lower():
            close = msg("close what is still open (an if, a loop, a brace, a quote)")
            fix = msg(
                "{close} until `{own} -n {name}` prints nothing",
                close=close,
                own=own,
                name=contract.ENTRY_POINT,
            )
        edits = _in_bash(text) if own == "dash" and bash and bash.accepted else ()
        place = text.where(parse.line)
        yield fail(
            expected=expected, seen=seen, fix=in_words(edits) or fix, where=place, edits=edits
        )
    if bash and bash.accepted and "here-document" in bash.message:
        expected = msg("a terminator for every here-document")
        seen = msg(
            "bash says: {message}; everything below is text, not commands", message=bash.message
        )
        fix = msg("put the terminator on its own line, without blanks")
        yield warn(expected=expected, seen=seen, fix=fix, where=text.where(bash.line))


def _constructs(text: _Text) -> Findings:
    """Syntax that the other shell cannot read."""
    shell = contract.service().shell
    if shell == "bash":
        return
    guard = bashisms.runs_itself_in_bash(text.script)
    found = [
        (each.line, each.what)
        for each in bashisms.find(text.script)
        if not guard or each.line < guard
    ]
    bash, dash = text.parse("bash"), text.parse("dash")
    listed = joined(
        "; ",
        (msg("line {line}: {what}", line=line, what=what) for line, what in found[:MAX_LISTED]),
    )
    line = found[0][0] if found else 0
    refused = (
        dash and dash.accepted is False and not guard and not (bash and bash.accepted is False)
    )
    if dash and refused and (text.interpreter in BASH or not text.interpreter):
        listed += msg(
            "{value}dash says: {message} (line {line})",
            value="; " if listed else "",
            message=dash.message,
            line=dash.line,
        )
        line = line or dash.line
    if listed and text.interpreter not in OTHER_SHELLS:
        expected = msg(
            "a script that reads the same under sh and bash: which one the service uses is not documented"
        )
        if shell:
            expected = msg("a script that {shell} reads, which runs it", shell=shell)
        edits = _in_bash(text) if not shell else ()
        fix = in_words(edits) or msg(
            "name bash in the first line, {shebang}, and insert below it: `{in_bash}`",
            shebang=SHEBANG,
            in_bash=bashisms.IN_BASH,
        )
        if shell:
            fix = msg("write it for {shell}", shell=shell)
        yield by_profile(contract.SHELL)(
            expected=expected, seen=listed, fix=fix, where=text.where(line), edits=edits
        )


def _continuations(text: _Text) -> Findings:
    script = text.script
    code = script.without("string", "raw_string", "heredoc_body", "comment")
    behind = [each for each in _BLANK_BEHIND.finditer(script.text) if code[each.start()] == "\\"]
    if behind:
        found = behind[0]
        line = script.line(found.start())
        tell = warn if _only_prints(script, found.start()) else fail
        expected = msg("nothing after the backslash that continues a line")
        seen = msg(
            "a blank after it: {line}; the command ends there, without the lines below",
            line=text.quoted(line),
        )
        yield tell(
            expected=expected,
            seen=seen,
            command=f"sed -i 's/\\\\[ \\t]*$/\\\\/' {contract.ENTRY_POINT}",
            where=text.where(line),
            edits=tuple(_shortened(script, each) for each in behind),
        )
        return
    before = ""
    above: Command | None = None
    for command in script.commands():
        first = command.words[0]
        if re.match(r"--?[A-Za-z]", first.text):
            line = script.line(first.start)
            expected = msg(
                "options on the line of their command, or after a line that ends in a backslash"
            )
            seen = msg(
                "{line} is a separate command, which the one above goes without",
                line=text.quoted(line),
            )
            fix = msg(
                "move comments above the command, and end all of its lines but the last in a backslash"
            )
            tell = warn if _SERVER.search(before) else fail
            edits = _joined_lines(script, above, line) if above else ()
            place = text.where(line)
            yield tell(
                expected=expected, seen=seen, fix=in_words(edits) or fix, where=place, edits=edits
            )
            return
        before, above = " ".join(word.text for word in command.words), command


def _shortened(script: Script, found: re.Match[str]) -> Edit:
    """Remove the blanks behind a backslash at the end of a line."""
    end = found.end()
    return replaced(
        contract.ENTRY_POINT, script.text, end - len(found[0]) + found[0].rindex("\\"), end, "\\"
    )


def _joined_lines(script: Script, above: Command, line: int) -> tuple[Edit, ...]:
    """Continue the command above in a line of options; comments between the two move above the command."""
    lines, name = script.text.split("\n"), contract.ENTRY_POINT
    first, last = script.line(above.start), script.line(above.words[-1].end)
    between = lines[last : line - 1]
    comments = [
        number for number in range(last + 1, line) if lines[number - 1].lstrip().startswith("#")
    ]
    if not all(text.lstrip().startswith("#") or not text.strip() for text in between):
        return ()
    if re.search(r"[&|;>)]\s*$", lines[last - 1]) or re.search(
        r"[&|;<>]", lines[last - 1].split("#")[0]
    ):
        return ()
    edits = [without_lines(name, script.text, number, number) for number in range(last + 1, line)]
    if comments:
        moved = "\n".join(lines[number - 1].strip() for number in comments)
        edits.insert(0, inserted_below(name, first - 1, moved))
    if not lines[last - 1].rstrip().endswith("\\"):
        end = sum(len(text) + 1 for text in lines[: last - 1]) + len(lines[last - 1].rstrip())
        start = end - len(lines[last - 1].strip())
        edits.append(replaced(name, script.text, start, end, f"{script.text[start:end]} \\"))
    return tuple(edits)


def _typography(text: _Text) -> Findings:
    """Characters that word processors and chat windows substitute for quotes, dashes and blanks."""
    signs = [
        (word, found) for word in text.script.of("word") if (found := TYPOGRAPHIC.search(word.text))
    ]
    if signs:
        word, found = signs[0]
        line = text.script.line(word.start)
        expected = msg("plain \" ' - and blanks, which a shell understands")
        seen = msg(
            "U+{code_point:04X} in {line}: the shell reads it as a letter",
            code_point=ord(found.group()),
            line=text.quoted(line),
        )
        edits = _retyped(text.script)
        fix = in_words(edits) or msg("retype the character in a plain text editor")
        yield warn(expected=expected, seen=seen, fix=fix, where=text.where(line), edits=edits)


def _retyped(script: Script) -> tuple[Edit, ...]:
    """The words of commands with plain quotes, hyphens and blanks; none if that does not parse."""
    edits, retyped = [], script.text
    words = [
        word
        for command in script.all_commands()
        for word in command.words
        if TYPOGRAPHIC.search(word.text)
    ]
    for word in sorted(words, key=lambda word: -word.start):
        dashes = len(word.text) - len(word.text.lstrip("\u2013\u2014\u2212-"))
        plain = re.sub(r"[\u00a0\u2002-\u200a\u3000]", " ", word.text[dashes:])
        plain = "".join(_PLAIN_SIGNS.get(sign, sign) for sign in plain)
        plain = ("--" if dashes and len(plain) > 1 else "-" * dashes) + plain
        edits.append(replaced(contract.ENTRY_POINT, script.text, word.start, word.end, plain))
        retyped = retyped[: word.start] + plain + retyped[word.end :]
    broken = any(True for _ in shell.read(retyped).of("ERROR")) and not any(
        True for _ in script.of("ERROR")
    )
    return () if broken else tuple(reversed(edits))


def _only_prints(script: Script, offset: int) -> bool:
    """Whether the last command before an offset only prints: an extra blank in its output is harmless."""
    before = [command for command in script.commands() if command.start <= offset]
    return bool(before) and before[-1].name in {"echo", "printf"}
