"""What a shell or Python said when something was not there: which line, what was missing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from healthcheck import contract
from healthcheck.plan.script import deploy_sh


@dataclass(frozen=True, slots=True, kw_only=True)
class Complaint:
    """One message on standard error.

    Attributes:
        kind: "command", "file", "variable", "argument", "option" (a flag that became a command), "module",
            "permission", "syntax" or "terminal".
        name: what is missing, or the text of a syntax error.
        where: "deploy.sh:7", empty where the message does not say.
        text: the message itself.
        guarded: the line goes on without it ("|| true").
    """

    kind: str
    name: str
    where: str
    text: str
    guarded: bool = False


_LOCATED = re.compile(r"^(?P<file>[^\s:][^:]*): (?:line )?(?P<line>\d+): (?P<rest>.+)$")
_LOCATED_TEXTS = (
    ("option", r"^(?:exec: )?(?P<name>--?[A-Za-z][\w-]*\S*): (?:command )?not found$"),
    ("argument", r"^\$?(?P<name>[1-9@*]): (?:unbound variable|parameter (?:null or )?not set)"),
    ("variable", r"^(?P<name>\w+): (?:unbound variable|parameter not set|parameter null or not set)"),
    ("permission", r"^(?:exec: )?(?P<name>[^:]+): (?:cannot execute: )?Permission denied$"),
    ("file", r"^(?:\.|source): cannot open (?P<name>.+?)(?:: No such file)?$"),
    ("file", r"^(?:cd|pushd): (?:can't cd to )?(?P<name>.+?)(?:: No such file or directory)?$"),
    ("file", (
        r"^(?:exec: |cannot open )?(?P<name>/[^:]*|\.{0,2}/?[^:]*/[^:]*): "
        r"(?:No such file(?: or directory)?|not found|cannot execute.*)$"
    )),
    ("file", r"^cannot (?:open|create) (?P<name>.+?): "),
    ("command", r"^(?:exec: )?(?P<name>[^\s:]+): (?:command )?not found$"),
    ("file", r"^(?P<name>[^:]+): No such file or directory$"),
    ("syntax", r"^(?P<name>(?:[Ss]yntax error|unexpected EOF|bad substitution|Bad substitution).*)$"),
    ("argument", r"^\$?(?P<name>[1-9]): .+$"),
    ("variable", r"^(?P<name>[A-Z][A-Z0-9_]{2,}): .+$"),
)  # fmt: skip
_ELSEWHERE_TEXTS = (
    ("module", r"^(?:ModuleNotFound|Import)Error: No module named '?(?P<name>[\w.]+)"),
    ("argument", r"^[\w./-]+: error: the following arguments are required: (?P<name>.+)$"),
    ("argument", r"^Error: Missing (?:option|argument) '(?P<name>[^' ]+)"),
    ("file", (  # of pip
        r"^(?:ERROR|WARNING): (?:Could not .*No such file or directory: '|Location '|.*looks like a path\. File '|)"
        r"(?P<name>[^' ]+)(?:'$|' is ignored|' does not exist\.$| is not a valid editable requirement)"
    )),
    ("terminal", r"^(?P<name>EOFError: EOF when reading a line)$"),
    ("file", r"^.*python[\d.]*: can't open file '(?P<name>[^']+)'"),
    ("file", r"^FileNotFoundError: \[Errno 2\] No such file or directory: '(?P<name>[^']+)'"),
    ("variable", r"^KeyError: '(?P<name>[A-Z][A-Z0-9_]+)'$"),
    ("file", (
        r"^\w+: (?:can(?:no|')t \w+ (?:(?:regular )?file |directory )?)?'?(?P<name>[^':]+)'?: No such file or dir"
    )),
    ("terminal", r"^(?P<name>.*(?:not a tty|not a terminal|Inappropriate ioctl for device).*)$"),
)  # fmt: skip
_Pattern = tuple[str, re.Pattern[str]]
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
