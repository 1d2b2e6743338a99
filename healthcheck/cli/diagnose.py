"""`npu-adapter diagnose LOGFILE`: the cause of a failed launch, from its log."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from pathlib import Path

from healthcheck.cli import output
from healthcheck.cli.parsing import exit_statuses
from healthcheck.cli.places import place
from healthcheck.errors import ExitStatus
from healthcheck.service.blocks import Line
from healthcheck.service.diagnosis import Diagnosis, Hit, diagnose, diagnose_stream


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.description = (
        "Find the cause of a failed launch in its log: the first specific failure that\n"
        "the kit knows, with the lines, the cause, the fix and the source; else the last\n"
        "error block. The log may be of any size."
    )
    parser.epilog = exit_statuses(
        {0: "a cause was found", 2: "wrong usage, or a log that cannot be read", 3: "no cause was found"}
    )
    parser.add_argument("log", type=place, metavar="LOGFILE", help="the log; - reads standard input")
    output.json_argument(parser, "the diagnosis")


def run(options: argparse.Namespace) -> int:
    """Print the diagnosis; 0 if a cause was found, 3 if none was."""
    output.refuse_unwritable(options.json)
    name = str(options.log)
    found = diagnose_stream(sys.stdin.buffer) if name == "-" else diagnose(Path(name))
    text = _text(found, "standard input" if name == "-" else name)
    output.show(text, options.json, lambda: _record(found))
    return ExitStatus.READY if found.cause else ExitStatus.INCONCLUSIVE


def _text(found: Diagnosis, name: str) -> Iterable[str]:
    if found.cause:
        failure = found.cause.failure
        yield f"{failure.id}: {failure.cause}"
        yield f"  fix:    {failure.fix}"
        yield f"  source: {'; '.join(failure.sources)}"
        yield f"  in {name}:"
        yield from _quoted(found.cause.lines)
    else:
        yield f"no known failure in {name} ({found.lines} line{'' if found.lines == 1 else 's'})"
    if found.block and not found.cause:
        yield "the last error block:"
        yield from _quoted(found.block)
    if found.others:
        yield "also there:"
        for hit in found.others:
            failure = hit.failure
            yield f"  line {hit.lines[0].number}: {failure.id} ({failure.severity.name.lower()}): {failure.cause}"


def _quoted(lines: Iterable[Line]) -> Iterable[str]:
    return (f"  {line.number:>7}  {line.text}" for line in lines)


def _record(found: Diagnosis) -> dict[str, object]:
    return {
        "schema": 1,
        "cause": _hit(found.cause) if found.cause else None,
        "others": [_hit(hit) for hit in found.others],
        "block": [{"line": line.number, "text": line.text} for line in found.block],
        "lines": found.lines,
    }


def _hit(hit: Hit) -> dict[str, object]:
    return {
        "id": hit.failure.id,
        "severity": hit.failure.severity.name.lower(),
        "cause": hit.failure.cause,
        "fix": hit.failure.fix,
        "sources": list(hit.failure.sources),
        "matches": [{"line": line.number, "text": line.text} for line in hit.lines],
    }
