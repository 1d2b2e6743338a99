"""What a shell or Python said when something was not there: which line, what was missing."""

from __future__ import annotations

import enum
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from healthcheck import contract
from healthcheck.plan.script import deploy_sh


class Need(enum.Enum):
    """What a message says is missing or wrong. OPTION is a flag that became a command."""

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
        name: what is missing, or the text of a syntax error.
        where: "deploy.sh:7", empty where the message does not say.
        text: the message itself.
        guarded: the line goes on without it ("|| true").
    """

    kind: Need
    name: str
    where: str
    text: str
    guarded: bool = False


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
_Pattern = tuple[Need, re.Pattern[str]]
_PATTERNS: tuple[_Pattern, ...] = tuple((kind, re.compile(text)) for kind, text in _LOCATED_TEXTS)
_ELSEWHERE: tuple[_Pattern, ...] = tuple((kind, re.compile(text)) for kind, text in _ELSEWHERE_TEXTS)
_OURS = re.compile(r"ulimit|Started server process")


@lru_cache(maxsize=8)  # a dozen checks ask about one run
def complaints(stderr: str, text: str) -> tuple[Complaint, ...]:
    """The messages of a run, in order, each once."""
    found = dict.fromkeys(_complaints(stderr, text))
    return tuple(found)


def _complaints(stderr: str, text: str) -> Iterator[Complaint]:
    for line in stderr.splitlines()[:2000]:
        if _OURS.search(line) or len(line) > 2000:
            continue
        located = _LOCATED.match(line)
        rest = located["rest"] if located else line
        number = int(located["line"]) if located and located["file"].endswith(contract.ENTRY_POINT) else 0
        for kind, pattern in _PATTERNS if located else _ELSEWHERE:
            match = pattern.match(rest)
            if match:
                source = deploy_sh.line_at(text, number)
                place = f"{located['file'].rpartition('/')[2]}:{located['line']}" if located else ""
                yield Complaint(
                    kind=kind, name=match["name"].strip("'\"‘’"), where=place, text=line, guarded="||" in source
                )
                break
