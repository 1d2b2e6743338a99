"""`npu-adapter diagnose LOGFILE` at work: the diagnosis in words, and as JSON."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from pathlib import Path

from healthcheck.cli import output
from healthcheck.errors import ExitStatus
from healthcheck.stages.service.blocks import Line
from healthcheck.stages.service.diagnosis import Diagnosis, diagnose, diagnose_stream
from healthcheck.stages.service.evidence import Hit
from healthcheck.stages.service.repairs import Setup, repair, setup_of
from healthcheck.text.messages import joined, message, msg, plural


def run(options: argparse.Namespace) -> int:
    """Print the diagnosis; returns 0 if it has a cause, or the kind of the last error; else 3."""
    output.refuse_unwritable(options.json)
    name = str(options.log)
    found = diagnose_stream(sys.stdin.buffer) if name == "-" else diagnose(Path(name))
    setup = setup_of(Path.cwd())
    text = _text(found, msg("standard input") if name == "-" else name, setup)
    output.show(text, options.json, lambda: _record(found, setup))
    return ExitStatus.READY if found.named else ExitStatus.INCONCLUSIVE


def _text(found: Diagnosis, name: str, setup: Setup) -> Iterable[str]:
    if found.cause:
        yield from _known(found.cause, setup, msg("fix"))
        yield msg("  in {name}:", name=name)
    elif found.candidates:
        yield msg("possible causes in {name}, of which none is proved:", name=name)
        for hit in found.candidates:
            yield from _known(hit, setup, msg("fix"))
            yield from _quoted(hit.lines)
    elif not found.kind:
        count = plural("{n} line", "{n} lines", found.lines, n=found.lines)
        if found.ready and not found.block:
            line = found.ready
            yield msg(
                "nothing failed in {name} ({count}): line {n} shows a running server",
                name=name,
                count=count,
                n=line,
            )
        else:
            yield msg("no known failure in {name} ({count})", name=name, count=count)
    if found.kind:
        yield from _known(found.kind, setup, msg("look"))
        yield msg("  no known cause: this is only what the last error of {name} says", name=name)
    if not found.cause and (found.block or found.end):
        none = msg("no line looks like an error; the last lines that are neither INFO nor DEBUG:")
        yield msg("the last error block:") if found.block else none
    yield from _quoted(found.telling or found.end)
    if found.others:
        yield msg("also there:")
        for hit in found.others:
            yield msg(
                "  line {number}: {id}: {cause}",
                number=hit.lines[0].number,
                id=hit.failure.id,
                cause=hit.failure.cause,
            )


def _known(hit: Hit, setup: Setup, word: str) -> Iterable[str]:
    yield msg("{id}: {cause}", id=hit.failure.id, cause=hit.cause)
    yield msg("  {word:<7} {repair}", word=msg("{word}:", word=word), repair=repair(hit, setup))
    yield msg("  source: {sources}", sources=joined("; ", map(message, hit.failure.sources)))


def _quoted(lines: Iterable[Line]) -> Iterable[str]:
    return (f"  {line.number:>7}  {line.text}" for line in lines)


def _record(found: Diagnosis, setup: Setup) -> dict[str, object]:
    return {
        "schema": 2,
        "cause": _hit(found.cause, setup) if found.cause else None,
        "candidates": [_hit(hit, setup) for hit in found.candidates],
        "kind": _hit(found.kind, setup) if found.kind else None,
        "others": [_hit(hit, setup) for hit in found.others],
        "block": _lines(found.block),
        "end": _lines(found.end),
        "lines": found.lines,
    }


def _hit(hit: Hit, setup: Setup) -> dict[str, object]:
    return {
        "id": hit.failure.id,
        "severity": hit.failure.severity.name.lower(),
        "cause": hit.cause,
        "fix": repair(hit, setup),
        "advice": hit.advice,
        "sources": list(hit.failure.sources),
        "matches": _lines(hit.lines),
    }


def _lines(lines: Iterable[Line]) -> list[dict[str, object]]:
    return [{"line": line.number, "text": line.text} for line in lines]
