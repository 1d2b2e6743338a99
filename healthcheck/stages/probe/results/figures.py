"""The basis of a run's figures: its grid of samples, and the summaries over it."""

from __future__ import annotations

from collections.abc import Collection

from healthcheck.stages.probe.records import Grid, ProbeRun
from healthcheck.stages.probe.statistics.estimates import Estimate, Summary
from healthcheck.stages.probe.statistics.intervals import by_problem
from healthcheck.stages.probe.statistics.summary import (
    ALL,
    per_problem,
    summarize,
    summarize_votes,
)
from healthcheck.text.messages import msg


def grid(run: ProbeRun) -> Grid:
    """The complete rounds of a run; if it ended within the first round, the complete part of that.

    Only the complete prefix of dispatch order counts, so that a run cut short is not a run of quick answers.
    """
    complete = run.complete
    repeats = min(len(complete) // max(len(run.problems), 1), run.settings.samples)
    rows: dict[int, list[int]] = {}
    for place in complete:
        if run.samples[place].repeat < max(repeats, 1):
            rows.setdefault(run.samples[place].problem, []).append(place)
    problems = sorted(rows)
    return Grid(problems=tuple(problems), rows=tuple(tuple(rows[problem]) for problem in problems))


def overall(run: ProbeRun) -> Summary:
    """The summary over all problems of the grid; empty if there is no sample."""
    return summary(run, grid(run), ALL)


def tiers(run: ProbeRun) -> tuple[Summary, ...]:
    """One summary for each tier; empty if the problems have no tiers."""
    chosen = grid(run)
    names = dict.fromkeys(run.problems[problem].tier for problem in chosen.problems)
    return (
        tuple(summary(run, of_tier(run, chosen, name), name) for name in names)
        if any(names)
        else ()
    )


def summary(run: ProbeRun, chosen: Grid, tier: str) -> Summary:
    """The summary over a part of the grid, with the name of that part."""
    return summarize(
        matrix(run, chosen), scores=scores(run, chosen), tier=tier, tiers=tiers_of(run, chosen)
    )


def tiers_of(run: ProbeRun, chosen: Grid) -> list[str]:
    """The tier of each problem of the grid; none for a data set, of which each run may draw other numbers."""
    return (
        [] if run.settings.dataset else [run.problems[problem].tier for problem in chosen.problems]
    )


def accuracies(run: ProbeRun) -> dict[str, float]:
    """The accuracy by tier, "all" for the whole bank; another run can use them as its reference."""
    return {
        each.tier: each.correct / each.samples
        for each in (overall(run), *tiers(run))
        if each.samples
    }


def of_tier(run: ProbeRun, chosen: Grid, tier: str) -> Grid:
    """The part of a grid with the problems of one tier."""
    return part(
        chosen, {problem for problem in chosen.problems if run.problems[problem].tier == tier}
    )


def part(chosen: Grid, problems: Collection[int]) -> Grid:
    """The part of a grid with these problems."""
    pairs = zip(chosen.problems, chosen.rows, strict=True)
    kept = [(problem, row) for problem, row in pairs if problem in problems]
    return Grid(problems=tuple(problem for problem, _ in kept), rows=tuple(row for _, row in kept))


def votes(run: ProbeRun, chosen: Grid) -> tuple[Estimate, ...]:
    """maj@n, agreement@n and wrong consensus."""
    return summarize_votes(matrix(run, chosen), answers(run, chosen), tiers_of(run, chosen))


def choices(run: ProbeRun) -> tuple[tuple[Estimate, str], ...]:
    """Figures that choose one of n samples, and their choices; the first and last are the bounds of the others."""
    chosen, whole = grid(run), overall(run)
    n = chosen.repeats
    voted = {estimate.name: estimate for estimate in votes(run, chosen)}
    found = (
        (whole.estimate(f"avg@{n}"), msg("any sample")),
        (voted.get(f"maj@{n}"), msg("the most frequent answer")),
        (voted.get(f"maj@{n} (first)"), msg("the most frequent answer, of several the first")),
        (whole.estimate(f"pass@{n}"), msg("a right sample, where there is one")),
    )
    return tuple((estimate, said) for estimate, said in found if estimate)


def answers(run: ProbeRun, chosen: Grid) -> list[list[str | None]]:
    return [[run.grades[place].extracted or None for place in row] for row in chosen.rows]


def matrix(run: ProbeRun, chosen: Grid) -> list[list[int]]:
    return [[int(run.grades[place].correct) for place in row] for row in chosen.rows]


def strict_matrix(run: ProbeRun, chosen: Grid) -> list[list[int]]:
    """Correctness with answers in the form that the prompt asks for alone."""
    return [[int(run.grades[place].strict) for place in row] for row in chosen.rows]


def accuracy_strict(run: ProbeRun, chosen: Grid) -> Estimate:
    """The accuracy of the answers in the form that the prompt asks for; others count as wrong."""
    shares = [
        sum(run.grades[place].strict_score for place in row) / len(row) for row in chosen.rows
    ]
    return _per_problem("accuracy_strict", shares, run, chosen)


def form_missed(run: ProbeRun, chosen: Grid) -> Estimate:
    """The share of samples that miss the form; a failed request misses none."""
    missed = set(missing_form(run))
    shares = [sum(place in missed for place in row) / len(row) for row in chosen.rows]
    return _per_problem("form_missed", shares, run, chosen)


def missing_form(run: ProbeRun) -> tuple[int, ...]:
    """Indices into `run.samples` of the answers without anything in the form that the prompt asks for."""
    graded = enumerate(zip(run.samples, run.grades, strict=True))
    return tuple(
        place for place, (sample, grade) in graded if grade.form_missed and not sample.error
    )


def _per_problem(name: str, shares: list[float], run: ProbeRun, chosen: Grid) -> Estimate:
    interval = by_problem(shares, tiers_of(run, chosen))
    return per_problem(name, shares, interval, len(chosen.flat))


def scores(run: ProbeRun, chosen: Grid) -> list[list[float]]:
    return [[run.grades[place].score for place in row] for row in chosen.rows]
