"""What a shell or Python said when something was not there: which line, what was missing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from healthcheck.plan import script


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
_PATTERNS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("option", re.compile(r"^(?:exec: )?(?P<name>--?[A-Za-z][\w-]*\S*): (?:command )?not found$")),
    ("argument", re.compile(r"^\$?(?P<name>[1-9@*]): (?:unbound variable|parameter (?:null or )?not set)")),
    ("variable", re.compile(r"^(?P<name>\w+): (?:unbound variable|parameter not set|parameter null or not set)")),
    ("file", re.compile(r"^(?:\.|source): cannot open (?P<name>.+?)(?:: No such file)?$")),
    ("file", re.compile(r"^(?:cd|pushd): (?:can't cd to )?(?P<name>.+?)(?:: No such file or directory)?$")),
    ("file", re.compile(
        r"^(?:exec: |cannot open )?(?P<name>/[^:]*|\.{0,2}/?[^:]*/[^:]*): "
        r"(?:No such file or directory|No such file|not found|cannot execute.*)$"
    )),
    ("file", re.compile(r"^cannot (?:open|create) (?P<name>.+?): ")),
    ("command", re.compile(r"^(?:exec: )?(?P<name>[^\s:]+): (?:command )?not found$")),
    ("file", re.compile(r"^(?P<name>[^:]+): No such file or directory$")),
    ("permission", re.compile(r"^(?:exec: )?(?P<name>[^:]+): Permission denied$")),
    ("syntax", re.compile(r"^(?P<name>(?:[Ss]yntax error|unexpected EOF|bad substitution|Bad substitution).*)$")),
    ("argument", re.compile(r"^\$?(?P<name>[1-9]): .+$")),
    ("variable", re.compile(r"^(?P<name>[A-Z][A-Z0-9_]{2,}): .+$")),
)  # fmt: skip
_ELSEWHERE: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("module", re.compile(r"^(?:ModuleNotFound|Import)Error: No module named '?(?P<name>[\w.]+)")),
    ("argument", re.compile(r"^[\w./-]+: error: the following arguments are required: (?P<name>.+)$")),
    ("argument", re.compile(r"^Error: Missing (?:option|argument) '(?P<name>[^' ]+)")),
    ("file", re.compile(  # of pip
        r"^(?:ERROR|WARNING): (?:Could not .*No such file or directory: '|Location '|.*looks like a path\. File '|)"
        r"(?P<name>[^' ]+)(?:'$|' is ignored|' does not exist\.$| is not a valid editable requirement)"
    )),
    ("terminal", re.compile(r"^(?P<name>EOFError: EOF when reading a line)$")),
    ("file", re.compile(r"^.*python[\d.]*: can't open file '(?P<name>[^']+)'")),
    ("file", re.compile(r"^FileNotFoundError: \[Errno 2\] No such file or directory: '(?P<name>[^']+)'")),
    ("variable", re.compile(r"^KeyError: '(?P<name>[A-Z][A-Z0-9_]+)'$")),
    ("file", re.compile(r"^\w+: (?:cannot \w+ (?:file |directory )?)?'?(?P<name>[^':]+)'?: No such file or dir")),
    ("terminal", re.compile(r"^(?P<name>.*(?:not a tty|not a terminal|Inappropriate ioctl for device).*)$")),
)  # fmt: skip
_OURS = re.compile(r"ulimit|Started server process")


def complaints(stderr: str, text: str, name: str = "deploy.sh") -> tuple[Complaint, ...]:
    """The messages of a run, in order, each once."""
    found = dict.fromkeys(_complaints(stderr, text, name))
    return tuple(found)


def _complaints(stderr: str, text: str, name: str) -> Iterator[Complaint]:
    for line in stderr.splitlines()[:2000]:
        if _OURS.search(line) or len(line) > 2000:
            continue
        located = _LOCATED.match(line)
        rest = located["rest"] if located else line
        number = int(located["line"]) if located and located["file"].endswith(name) else 0
        for kind, pattern in _PATTERNS if located else _ELSEWHERE:
            match = pattern.match(rest)
            if match:
                source = script.line_at(text, number)
                place = f"{located['file'].rpartition('/')[2]}:{located['line']}" if located else ""
                yield Complaint(
                    kind=kind, name=match["name"].strip("'\"‘’"), where=place, text=line, guarded="||" in source
                )
                break
