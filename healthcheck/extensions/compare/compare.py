"""`npu-adapter compare` at work: the verdict, its table and the problems that changed, as lines and as JSON."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import replace

from healthcheck.cli import output
from healthcheck.core.records import SCHEMA
from healthcheck.errors import ExitStatus
from healthcheck.extensions.compare.comparison import LOSS_ERROR, Comparison, Shift
from healthcheck.extensions.compare.two_runs import Flip, TwoRuns, compare_runs
from healthcheck.report.words import plain
from healthcheck.stages.probe.run.folder import load
from healthcheck.stages.probe.statistics.changes import LEAST_PROBLEMS
from healthcheck.text.messages import msg

_STATUS = {
    Shift.NO_WORSE: ExitStatus.READY,
    Shift.WORSE: ExitStatus.NOT_READY,
    Shift.UNDECIDED: ExitStatus.INCONCLUSIVE,
}
_COLUMNS = 80
_SMALL = 0.05
_FLIPS_SHOWN = 3
_ANSWER_CHARS = 300
_STORED_CHARS = 4000


def run(options: argparse.Namespace) -> int:
    """Compare and print; returns 0 if no worse than the margin, 1 if worse, 3 if undecided."""
    output.refuse_unwritable(options.json)
    result = compare_runs(load(options.first), load(options.second), margin=options.margin)
    most = len(result.flips) if options.verbose else _FLIPS_SHOWN
    lines = output.first_screen(lines_of(result, most), options)
    output.show(lines, options.json, lambda: as_json(result))
    return _STATUS[result.comparisons[0].shift]


def as_json(result: TwoRuns) -> dict[str, object]:
    """The whole comparison as JSON values, with fractions."""
    most = _STORED_CHARS
    cut = ((flip, flip.first_answer[:most], flip.second_answer[:most]) for flip in result.flips)
    return {
        "schema": SCHEMA,
        "shift": result.comparisons[0].shift,
        "problems_needed": result.comparisons[0].problems_needed,
        "comparisons": result.comparisons,
        "flips": tuple(replace(flip, first_answer=a, second_answer=b) for flip, a, b in cut),
        "caveats": result.caveats,
        "runs": result.runs,
    }


def lines_of(result: TwoRuns, most_flips: int) -> Iterator[str]:
    whole = result.comparisons[0]
    yield from output.paragraph(_verdict(whole), _COLUMNS, "  ")
    yield ""
    for letter, described in zip("AB", result.runs, strict=True):
        yield from output.paragraph(
            msg("{letter}: {described}", letter=letter, described=plain(described)), _COLUMNS, "   "
        )
    yield ""
    yield msg("tier        problems    A, %    B, %   B - A, points [95 %]         p   finds")
    for part in result.comparisons:
        yield _row(part)
    yield msg("B - A  for problems like these (paired t); of many tiers one differs by chance")
    yield msg(
        "p      of “nothing changed on these very problems” ({name}), two-sided",
        name=whole.tests[0].name,
    )
    for other in whole.tests[1:]:
        yield msg("       or that of {name}, where it is larger", name=other.name)
    yield msg("finds  the true drop, in points, that a one-sided 5 % test finds in 4 cases of 5")
    for caveat in result.caveats:
        yield from output.paragraph(msg("note: {caveat}", caveat=plain(caveat)), _COLUMNS, "      ")
    lost = sum(flip.lost for flip in result.flips)
    won = len(result.flips) - lost
    yield ""
    yield msg(
        "problems lost: {lost}, won: {won} (mostly right in one run, mostly wrong in the other)",
        lost=lost,
        won=won,
    )
    for flip in result.flips[:most_flips]:
        yield from _flip(flip)
    if len(result.flips) > most_flips:
        yield ""
        yield msg("… and {count} more problems: --verbose", count=len(result.flips) - most_flips)


def _verdict(whole: Comparison) -> str:
    """The conclusion in words; a loss that is merely not excluded is not mentioned."""
    margin = msg("{margin:.1f} points", margin=100 * whole.margin)
    if whole.difference is None or whole.shift is Shift.UNDECIDED:
        return msg("undecided: {undecided}", undecided=_undecided(whole, margin))
    between = msg(
        "{low} to {high}", low=points(whole.difference.low), high=points(whole.difference.high)
    )
    if whole.shift is Shift.NO_WORSE:
        smaller = (
            msg("; a smaller loss is shown ({shown})", shown=_shown(whole))
            if whole.loss_shown
            else ""
        )
        bound = msg("one-sided 95 % bound {bound}", bound=points(whole.lower_bound))
        return msg(
            "no worse: a loss of {margin} is excluded ({bound}){smaller}",
            margin=margin,
            bound=bound,
            smaller=smaller,
        )
    if whole.beyond_margin:
        return msg(
            "worse: B lost more than the margin of {margin} (95 % interval {between})",
            margin=margin,
            between=between,
        )
    return msg(
        "worse: B lost accuracy ({shown}); whether more than the margin of {margin} is open",
        shown=_shown(whole),
        margin=margin,
    )


def _undecided(whole: Comparison, margin: str) -> str:
    """Why the comparison is undecided, and what would settle it."""
    small = whole.changed_p < _SMALL
    changed = (
        msg("; on these very problems something changed (p {p})", p=_p(whole.changed_p))
        if small
        else ""
    )
    if whole.difference is None or whole.too_few:
        least = msg("at least {least_problems}, better 120", least_problems=LEAST_PROBLEMS)
        return msg(
            "{problems} problems are too few for an interval ({least}){changed}",
            problems=whole.problems,
            least=least,
            changed=changed,
        )
    if whole.within_margin:
        return msg(
            "A is right in {first:.1f} %, so that losing everything would be within the margin of "
            "{margin}; compare with a sound run, or give a smaller --margin",
            first=100 * whole.first,
            margin=margin,
        )
    if whole.difference.low > -whole.margin:
        return msg(
            "too few problems differ to exclude a loss of {margin} (one-sided 95 % bound "
            "{lower_bound:+.1f}, as if two more did){changed}; use more problems",
            margin=margin,
            lower_bound=100 * whole.lower_bound,
            changed=changed,
        )
    between = msg(
        "{low} to {high}", low=points(whole.difference.low), high=points(whole.difference.high)
    )
    return msg(
        "neither a loss nor its absence is shown (p {p}, a loss needs {loss_error:g} or less; 95 % "
        "interval {between}, margin {margin}){changed}; if the difference stays, about "
        "{problems_needed} problems in both runs settle it",
        p=_p(whole.loss_p),
        loss_error=LOSS_ERROR,
        between=between,
        margin=margin,
        changed=changed,
        problems_needed=whole.problems_needed,
    )


def _shown(whole: Comparison) -> str:
    """The evidence for a loss: the test on these problems; the interval for similar problems may reach zero."""
    assert whole.difference
    between = msg(
        "{low} to {high}", low=points(whole.difference.low), high=points(whole.difference.high)
    )
    return msg(
        "p {p} on these problems; 95 % interval for problems like these {between}",
        p=_p(whole.loss_p),
        between=between,
    )


def _row(part: Comparison) -> str:
    difference, interval = part.difference, msg("too few problems")
    if difference and not part.too_few:
        interval = msg(
            "{difference} [{low}, {high}]",
            difference=points(difference.value),
            low=points(difference.low),
            high=points(difference.high),
        )
    shares = msg("{first:>6.2f}  {second:>6.2f}", first=100 * part.first, second=100 * part.second)
    tests = msg(
        "{p:>7}  {minimal_detectable:>6.1f}",
        p=_p(part.changed_p),
        minimal_detectable=100 * part.minimal_detectable,
    )
    return msg(
        "{tier:<10}  {problems:>8}  {shares}   {interval:<22} {tests}",
        tier=plain(part.tier)[:10],
        problems=part.problems,
        shares=shares,
        interval=interval,
        tests=tests,
    )


def points(difference: float) -> str:
    """A difference of two shares in points, with its sign; zero is always +0.0."""
    return f"{round(100 * difference, 1) + 0.0:+.1f}"


def _p(value: float) -> str:
    return f"{value:.4f}" if value >= 0.0001 else "<0.0001"


def _flip(flip: Flip) -> Iterator[str]:
    yield ""
    problem, tier, expected = (plain(text) for text in (flip.problem, flip.tier, flip.expected))
    right_before, samples_before = flip.first
    right_now, samples_now = flip.second
    if flip.lost:
        yield msg(
            "lost: {problem} ({tier}), right in {right_before}/{samples_before} → {right_now}/{samples_now}; "
            "expected {expected}",
            problem=problem,
            tier=tier,
            right_before=right_before,
            samples_before=samples_before,
            right_now=right_now,
            samples_now=samples_now,
            expected=expected,
        )
    else:
        yield msg(
            "won: {problem} ({tier}), right in {right_before}/{samples_before} → {right_now}/{samples_now}; "
            "expected {expected}",
            problem=problem,
            tier=tier,
            right_before=right_before,
            samples_before=samples_before,
            right_now=right_now,
            samples_now=samples_now,
            expected=expected,
        )
    yield msg("  asked: {short}", short=_short(flip.question))
    for letter, answer in (("A", flip.first_answer), ("B", flip.second_answer)):
        yield msg("  {letter}: {answer}", letter=letter, answer=_short(answer))


def _short(text: str) -> str:
    """The end of an answer, which has its result, on one line."""
    line = plain(" ".join(text.split()))
    return line if len(line) <= _ANSWER_CHARS else f"… {line[-_ANSWER_CHARS:]}"
