"""The figures of a run, each with its interval: what a report shows and other programs read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields

from healthcheck import json_text
from healthcheck.probe.records import ProbeRun
from healthcheck.probe.statistics.diagnosis import Diagnosis, diagnose
from healthcheck.probe.statistics.intervals import wilson
from healthcheck.probe.statistics.records import LIKE_THESE, Estimate, Summary
from healthcheck.probe.statistics.summary import accuracy_name, summarize, summarize_tiers
from healthcheck.records import JsonValue

_MARKED = ("boxed", "hashes", "cue", "emphasis", "last")
"""Grading tiers, the clearest mark of a final answer first."""
Rows = tuple[tuple[int, ...], ...]
"""Indices into a run's samples, one row a problem, all rows of one length."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """The part of a run that figures are made of: the same number of samples for each of its problems.

    Attributes:
        problems: places in the bank.
        rows: for each of them, the places of its samples in `run.samples`.
    """

    problems: tuple[int, ...]
    rows: Rows

    @property
    def repeats(self) -> int:
        return len(self.rows[0]) if self.rows else 0

    @property
    def flat(self) -> tuple[int, ...]:
        return tuple(place for row in self.rows for place in row)


def grid(run: ProbeRun) -> Grid:
    """The complete rounds of a run; of a run that ended within the first round, what is complete of that.

    Only the complete stretch of dispatch order counts, so that a run that ended early is no run of quick answers.
    """
    complete = run.complete
    repeats = min(len(complete) // max(len(run.problems), 1), run.settings.samples)
    rows: dict[int, list[int]] = {}
    for place in complete:
        if run.samples[place].repeat < max(repeats, 1):
            rows.setdefault(run.samples[place].problem, []).append(place)
    problems = sorted(rows)
    return Grid(problems=tuple(problems), rows=tuple(tuple(rows[problem]) for problem in problems))


def metrics(run: ProbeRun) -> dict[str, JsonValue]:
    """Every figure of a run, as JSON values: the service's four on top, then the rest by subject."""
    chosen = grid(run)
    if not chosen.rows:
        return {"samples": len(run.samples), "failed requests": len(run.failed)}
    summary = overall(run)
    n = summary.repeats
    headline = (accuracy_name(n), f"avg@{n}", f"pass@{n}", f"cons@{n}")
    return {
        **{name: _json(estimate) for name in headline if (estimate := summary.estimate(name))},
        "all": _summary(summary),
        "tiers": {tier.tier: _summary(tier) for tier in tiers(run)},
        "diagnosis": json_text.load(json_text.dump(_diagnosis(run, chosen))),
        "strict accuracy": _json(_share(chosen, lambda place: run.grades[place].strict)),
        "without failures": _json(_without_failures(run, chosen)),
        "samples": len(run.samples),
        "samples in figures": len(chosen.flat),
        "failed requests": len(run.failed),
    }


def overall(run: ProbeRun) -> Summary:
    """The summary over all problems of the grid; empty where there is no sample."""
    chosen = grid(run)
    return summarize(_correct(run, chosen), scores=_scores(run, chosen))


def tiers(run: ProbeRun) -> tuple[Summary, ...]:
    """One summary for each tier."""
    chosen = grid(run)
    names = [run.problems[problem].tier for problem in chosen.problems]
    return summarize_tiers(_correct(run, chosen), names, scores=_scores(run, chosen))


def accuracies(run: ProbeRun) -> dict[str, float]:
    """The accuracy by tier, "all" for the whole bank: what another run can be held against."""
    return {
        summary.tier: summary.correct / summary.samples
        for summary in (overall(run), *tiers(run))
        if summary.samples
    }


def _diagnosis(run: ProbeRun, chosen: Grid) -> Diagnosis:
    """Votes, clustering, gaps and order; the best sample of a problem is the one whose answer was marked best."""
    grades = [[run.grades[place] for place in row] for row in chosen.rows]
    return diagnose(
        _correct(run, chosen),
        [run.problems[problem].tier for problem in chosen.problems],
        [[grade.extracted or None for grade in row] for row in grades],
        ranks=[
            [float(-_MARKED.index(grade.tier)) if grade.tier in _MARKED else -9.0 for grade in row]
            for row in grades
        ],
    )


def _correct(run: ProbeRun, chosen: Grid) -> list[list[int]]:
    return [[int(run.grades[place].correct) for place in row] for row in chosen.rows]


def _scores(run: ProbeRun, chosen: Grid) -> list[list[float]]:
    return [[run.grades[place].score for place in row] for row in chosen.rows]


def _share(chosen: Grid, holds: Callable[[int], bool]) -> Estimate:
    matrix = [[int(holds(place)) for place in row] for row in chosen.rows]
    estimate = summarize(matrix).estimate(f"avg@{chosen.repeats}")
    assert estimate
    return estimate


def _without_failures(run: ProbeRun, chosen: Grid) -> Estimate:
    """Accuracy of the requests that were answered; its interval is for these problems again."""
    answered = [place for place in chosen.flat if not run.samples[place].error]
    right = sum(run.grades[place].score for place in answered)
    interval = wilson(right, len(answered))
    return Estimate(
        name="without failures", value=right / len(answered) if answered else 0.0, low=interval.low,
        high=interval.high, level=interval.level, method=interval.method, question="this bank again",
        problems=len(chosen.problems), samples=len(answered),
    )  # fmt: skip


def _summary(summary: Summary) -> dict[str, JsonValue]:
    return {
        "problems": summary.problems,
        "samples": summary.samples,
        "correct": summary.correct,
        "figures": _by_name(summary.estimates),
    }


def _by_name(estimates: Sequence[Estimate]) -> dict[str, JsonValue]:
    named: dict[str, JsonValue] = {}
    for estimate in estimates:
        name = estimate.name if estimate.question == LIKE_THESE else f"{estimate.name} ({estimate.question})"
        named[name] = _json(estimate)
    return named


def _json(estimate: Estimate) -> dict[str, JsonValue]:
    return {field.name: getattr(estimate, field.name) for field in fields(estimate) if field.name != "name"}
