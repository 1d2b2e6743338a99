"""`npu-adapter compare`: two probe runs on the same problems."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from healthcheck import json_text
from healthcheck.cli.places import place
from healthcheck.errors import UsageError
from healthcheck.files import write_atomically
from healthcheck.probe.folder import load
from healthcheck.probe.statistics.comparison import LEAST_PROBLEMS, Comparison, Shift
from healthcheck.probe.two_runs import Flip, TwoRuns, compare_runs
from healthcheck.records import SCHEMA
from healthcheck.report.words import plain

MARGIN = 0.05
_STATUS = {Shift.NOT_DEGRADED: 0, Shift.DEGRADED: 1, Shift.UNDECIDED: 3}
_FLIPS_SHOWN = 10
_ANSWER_CHARS = 300
_STORED_CHARS = 4000


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("first", type=place, metavar="RUN_A", help="run folder of the reference, such as the GPU")
    parser.add_argument("second", type=place, metavar="RUN_B", help="run folder of what is held against it")
    margin = f"loss of accuracy that is still no degradation (default: {MARGIN})"
    parser.add_argument("--margin", type=float, default=MARGIN, metavar="D", help=margin)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write everything as JSON")


def run(options: argparse.Namespace) -> int:
    """Compare, print; 0 not degraded, 1 degraded, 3 undecided."""
    if not 0 < options.margin < 1:
        raise UsageError(f"--margin lies between 0 and 1, not at {options.margin}")
    result = compare_runs(load(options.first), load(options.second), margin=options.margin)
    if options.json:
        write_atomically(options.json, as_json(result))
    print("\n".join(lines_of(result)))
    return _STATUS[result.comparisons[0].shift]


def as_json(result: TwoRuns) -> bytes:
    """Everything that was found, as JSON; fractions."""
    short = tuple(
        replace(
            flip, first_answer=flip.first_answer[:_STORED_CHARS], second_answer=flip.second_answer[:_STORED_CHARS]
        )
        for flip in result.flips
    )
    return json_text.dump(
        {
            "schema": SCHEMA,
            "shift": result.comparisons[0].shift,
            "comparisons": result.comparisons,
            "flips": short,
            "caveats": result.caveats,
        }
    )


def lines_of(result: TwoRuns) -> Iterator[str]:
    """The comparison for a terminal."""
    yield from _verdict(result.comparisons[0])
    yield ""
    yield "tier        problems  A        B        B - A (95 % interval)      changed?   seen from"
    for part in result.comparisons:
        yield _row(part)
    yield "changed?: p of the test by problem (small: they differ); seen from: the drop found in 4 cases of 5"
    for caveat in result.caveats:
        yield f"note: {plain(caveat)}"
    lost = sum(flip.lost for flip in result.flips)
    yield ""
    yield f"{lost} problems lost, {len(result.flips) - lost} won"
    for flip in result.flips[:_FLIPS_SHOWN]:
        yield from _flip(flip)
    if len(result.flips) > _FLIPS_SHOWN:
        yield f"… and {len(result.flips) - _FLIPS_SHOWN} more (--json has them all)"


def _verdict(whole: Comparison) -> Iterator[str]:
    margin, bound = f"{100 * whole.margin:.1f}", f"{100 * whole.lower_bound:+.1f}"
    if whole.shift is Shift.NOT_DEGRADED:
        yield f"not degraded: the loss is smaller than {margin} points (one-sided 95 % bound {bound})"
    elif whole.shift is Shift.DEGRADED:
        yield f"degraded: accuracy fell by more than {margin} points, and not by chance (bound {bound})"
    elif whole.too_few:
        yield f"undecided: {whole.problems} problems are too few; use at least {LEAST_PROBLEMS}, better 120"
    else:
        yield (
            f"undecided: a loss of {margin} points can neither be excluded nor shown (bound {bound}); "
            f"such runs find a drop of {100 * whole.minimal_detectable:.1f} points: use more problems"
        )


def _row(part: Comparison) -> str:
    difference = part.difference
    interval = (
        f"{100 * difference.value:+.1f} [{100 * difference.low:+.1f}, {100 * difference.high:+.1f}]"
        if difference
        else "unknown"
    )
    shares = f"{100 * part.first:>6.2f}   {100 * part.second:>6.2f}"
    tests = f"p={part.tests[-1].changed_p:.4f}   {100 * part.minimal_detectable:.1f}"
    return f"{plain(part.tier)[:10]:<10}  {part.problems:>8}  {shares}   {interval:<26} {tests}"


def _flip(flip: Flip) -> Iterator[str]:
    word = "lost" if flip.lost else "won"
    yield ""
    yield plain(
        f"{word}: {flip.problem} ({flip.tier}), right in {flip.first[0]}/{flip.first[1]} → "
        f"{flip.second[0]}/{flip.second[1]}; expected {flip.expected}"
    )
    yield f"  asked: {_short(flip.question)}"
    yield f"  A: {_short(flip.first_answer)}"
    yield f"  B: {_short(flip.second_answer)}"


def _short(text: str) -> str:
    """The end of an answer, where its result stands, on one line."""
    line = plain(" ".join(text.split()))
    return line if len(line) <= _ANSWER_CHARS else f"… {line[-_ANSWER_CHARS:]}"
