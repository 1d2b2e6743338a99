"""Parses the output of deploy.sh: its last lines, and messages of shells and Python about missing things."""

from __future__ import annotations

import enum
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from healthcheck import contract
from healthcheck.stages.plan.records import ShellRun
from healthcheck.stages.plan.script import deploy_sh
from healthcheck.text.redact import without_secrets


class Need(enum.Enum):
    """What a message reports as missing or wrong. OPTION is a flag that the shell took for a command."""

    COMMAND = "command"
    FILE = "file"
    VARIABLE = "variable"
    ARGUMENT = "argument"
    OPTION = "option"
    MODULE = "module"
    PERMISSION = "permission"
    SYNTAX = "syntax"
    TERMINAL = "terminal"


@dataclass(frozen=True, slots=True, kw_only=True)
class Complaint:
    """One message on standard error.

    Attributes:
        name: the missing thing, or the text of a syntax error.
        where: the line ("deploy.sh:7"), "" if the message has none.
        text: the message itself.
        guarded: the line handles the failure ("|| true").
    """

    kind: Need
    name: str
    where: str
    text: str
    guarded: bool = False

    @property
    def line(self) -> int:
        """The line of deploy.sh; 0 if the message has none, or one of another file."""
        file, _, number = self.where.partition(":")
        return int(number) if file == contract.ENTRY_POINT and number.isdigit() else 0


_LOCATED = re.compile(r"^(?P<file>[^\s:][^:]*): (?:line )?(?P<line>\d+): (?P<rest>.+)$")
_LOCATED_TEXTS = (
    (Need.OPTION, r"^(?:exec: )?(?P<name>--?[A-Za-z][\w-]*\S*): (?:command )?not found$"),
    (Need.ARGUMENT, r"^\$?(?P<name>[1-9@*]): (?:unbound variable|parameter (?:null or )?not set)"),
    (Need.VARIABLE, r"^(?P<name>\w+): (?:unbound variable|parameter not set|parameter null or not set)"),
    (Need.PERMISSION, r"^(?:exec: )?(?P<name>[^:]+): (?:cannot execute: )?Permission denied$"),
    (Need.FILE, r"^(?:\.|source): cannot open (?P<name>.+?)(?:: No such file)?$"),
    (Need.FILE, r"^(?:cd|pushd): (?:can't cd to )?(?P<name>.+?)(?:: No such file or directory)?$"),
    (Need.FILE, (
        r"^(?:exec: |cannot open )?(?P<name>/[^:]*|\.{0,2}/?[^:]*/[^:]*): "
        r"(?:No such file(?: or directory)?|not found|cannot execute.*)$"
    )),
    (Need.FILE, r"^cannot (?:open|create) (?P<name>.+?): "),
    (Need.COMMAND, r"^(?:exec: )?(?P<name>[^\s:]+): (?:command )?not found$"),
    (Need.FILE, r"^(?P<name>[^:]+): No such file or directory$"),
    (Need.SYNTAX, r"^(?P<name>(?:[Ss]yntax error|unexpected EOF|bad substitution|Bad substitution).*)$"),
    (Need.ARGUMENT, r"^\$?(?P<name>[1-9]): .+$"),
    (Need.VARIABLE, r"^(?P<name>[A-Z][A-Z0-9_]{2,}): .+$"),
)  # fmt: skip
_ELSEWHERE_TEXTS = (
    (Need.MODULE, r"^(?:ModuleNotFound|Import)Error: No module named '?(?P<name>[\w.]+)"),
    (Need.ARGUMENT, r"^[\w./-]+: error: the following arguments are required: (?P<name>.+)$"),
    (Need.ARGUMENT, r"^Error: Missing (?:option|argument) '(?P<name>[^' ]+)"),
    (Need.FILE, (  # of pip
        r"^(?:ERROR|WARNING): (?:Could not .*No such file or directory: '|Location '|.*looks like a path\. File '|)"
        r"(?P<name>[^' ]+)(?:'$|' is ignored|' does not exist\.$| is not a valid editable requirement)"
    )),
    (Need.TERMINAL, r"^(?P<name>EOFError: EOF when reading a line)$"),
    (Need.FILE, r"^.*python[\d.]*: can't open file '(?P<name>[^']+)'"),
    (Need.FILE, r"^FileNotFoundError: \[Errno 2\] No such file or directory: '(?P<name>[^']+)'"),
    (Need.VARIABLE, r"^KeyError: '(?P<name>[A-Z][A-Z0-9_]+)'$"),
    (Need.FILE, (
        r"^\w+: (?:can(?:no|')t \w+ (?:(?:regular )?file |directory )?)?'?(?P<name>[^':]+)'?: No such file or dir"
    )),
    (Need.TERMINAL, r"^(?P<name>.*(?:not a tty|not a terminal|Inappropriate ioctl for device).*)$"),
)  # fmt: skip
TAIL_LINES = 3
_TELLING_LINES = 12
_ERROR = re.compile(r"\b(?:error|fatal)\b|\u9519\u8bef", re.IGNORECASE)
_TELLS = re.compile(
    r"\b(?:fail(?:ed|ure|s)?|missing|required?|must|not (?:found|set|exist|available|installed)"
    r"|cannot|can't|unable|invalid|unknown|unsupported|no such|denied|refused)\b"
    r"|\u5931\u8d25|\u672a\u627e\u5230|\u4e0d\u5b58\u5728|\u7f3a\u5c11",
    re.IGNORECASE,
)
"""Words for failures, in English and in Chinese (error, failed, not found, does not exist, lacks)."""
_OURS = re.compile(r"ulimit|Started server process")


@lru_cache(maxsize=8)  # a dozen checks read the same run
def complaints(stderr: str, text: str) -> tuple[Complaint, ...]:
    """The messages of a run, in order, each once."""
    return tuple(dict.fromkeys(_complaints(stderr, text)))


def _complaints(stderr: str, text: str) -> Iterator[Complaint]:
    for line in stderr.splitlines()[:2000]:
        if _OURS.search(line) or len(line) > 2000:
            continue
        located = _LOCATED.match(line)
        rest = located["rest"] if located else line
        number = (
            int(located["line"])
            if located and located["file"].endswith(contract.ENTRY_POINT)
            else 0
        )
        place = f"{located['file'].rpartition('/')[2]}:{located['line']}" if located else ""
        guarded = "||" in deploy_sh.line_at(text, number)
        matches = (
            (kind, re.match(form, rest))
            for kind, form in (_LOCATED_TEXTS if located else _ELSEWHERE_TEXTS)
        )
        if found := next(((kind, match["name"]) for kind, match in matches if match), None):
            yield Complaint(
                kind=found[0], name=found[1].strip("'\"‘’"), where=place, text=line, guarded=guarded
            )


def last_lines(run: ShellRun) -> list[str]:
    """The last lines that deploy.sh printed: of standard error, or of standard output if that is empty."""
    return _lines_said(run)[-TAIL_LINES:]


def error_line(run: ShellRun) -> str:
    """The first of the last lines that names an error, else the last line."""
    lines = _lines_said(run)[-_TELLING_LINES:]
    told = (line for tells in (_ERROR, _TELLS) for line in lines if tells.search(line))
    return next(told, lines[-1] if lines else "")


def _lines_said(run: ShellRun) -> list[str]:
    text = without_secrets(
        run.stderr.strip() or run.stdout.strip()
    )  # before lines are split and cut
    return [line.strip()[:200] for line in text.splitlines() if line.strip()]
