"""What the figures of a run are made of: its grid of samples, and the summaries over it."""

from __future__ import annotations

import math
from dataclasses import dataclass

from healthcheck.stages.probe.adaptive import saving, stopping
from healthcheck.stages.probe.grading import Grade
from healthcheck.stages.probe.records import ProbeRun
from healthcheck.stages.probe.statistics.records import Estimate, Summary
from healthcheck.stages.probe.statistics.summary import summarize, summarize_tiers, summarize_votes
from healthcheck.stages.probe.statistics.weighted import summarize_scores
from healthcheck.text.messages import msg

SCORED = " (score)"
"""The end of the name of a figure that rests on the user's scores."""
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

    Only the complete stretch of dispatch order counts, so that a run cut short is not a run of quick answers. With
    adaptive k it is the samples that every problem gets whatever they say: figures of further ones would be biased.
    """
    complete = run.complete
    rule = stopping(run.settings)
    repeats = min(len(complete) // max(len(run.problems), 1), rule.least if rule else run.settings.samples)
    rows: dict[int, list[int]] = {}
    for place in complete:
        if run.samples[place].repeat < max(repeats, 1):
            rows.setdefault(run.samples[place].problem, []).append(place)
    problems = sorted(rows)
    return Grid(problems=tuple(problems), rows=tuple(tuple(rows[problem]) for problem in problems))


def overall(run: ProbeRun) -> Summary:
    """The summary over all problems of the grid; empty if there is no sample."""
    chosen = grid(run)
    return summarize(matrix(run, chosen), scores=scores(run, chosen))


def tiers(run: ProbeRun) -> tuple[Summary, ...]:
    """One summary for each tier; none where the problems have no tiers."""
    chosen = grid(run)
    names = [run.problems[problem].tier for problem in chosen.problems]
    if not any(names):
        return ()
    return summarize_tiers(matrix(run, chosen), names, scores=scores(run, chosen))


def accuracies(run: ProbeRun) -> dict[str, float]:
    """The accuracy by tier, "all" for the whole bank: what another run can be held against."""
    return {
        summary.tier: summary.correct / summary.samples
        for summary in (overall(run), *tiers(run))
        if summary.samples
    }


def of_tier(run: ProbeRun, chosen: Grid, tier: str) -> Grid:
    """The part of a grid that has the problems of one tier."""
    pairs = zip(chosen.problems, chosen.rows, strict=True)
    kept = [(problem, row) for problem, row in pairs if run.problems[problem].tier == tier]
    return Grid(problems=tuple(problem for problem, _ in kept), rows=tuple(row for _, row in kept))


def votes(run: ProbeRun, chosen: Grid) -> tuple[Estimate, ...]:
    """maj@k, agreement@k, wrong consensus, best@k; weighted maj@k where there are log-probabilities or scores.

    The best sample of a problem is the likeliest one where the server gave log-probabilities, else the one whose
    answer was marked best. The user's own scores give further figures of both kinds.
    """
    logprobs = _logprobs(run, chosen)
    likelihoods = [[value for value in row if value is not None] for row in logprobs]
    given = sum(map(len, likelihoods)) == len(chosen.flat)
    marks = [[_mark(run.grades[place]) for place in row] for row in chosen.rows]
    right, said = matrix(run, chosen), _answers(run, chosen)
    found = summarize_votes(right, said, ranks=likelihoods if given else marks)
    if given:
        weights = [[math.exp(value) for value in row] for row in likelihoods]
        weighed = summarize_scores(right, said, weights, name="likelihood")
        found += tuple(each for each in weighed if each.name.startswith("weighted"))  # its best@k is there already
    scores = _user_scores(run, chosen)
    return found + (summarize_scores(right, said, scores, name="score") if scores else ())


def choices(run: ProbeRun) -> tuple[tuple[Estimate, str], ...]:
    """Figures that choose one of n samples, and what they choose; the first and the last are the bounds of it."""
    chosen = grid(run)
    n = chosen.repeats
    names = {
        f"avg@{n}": msg("any sample"),
        f"maj@{n}": msg("the most frequent answer"),
        msg("maj@{samples} (adaptive)", run.settings.samples): msg(
            "the most frequent answer of adaptively many samples"
        ),
        msg("weighted maj@{n} (likelihood)", n): msg("the answer of the greatest likelihood"),
        msg("weighted maj@{n}{scored}", n, SCORED): msg("the answer of the greatest score"),
        f"best@{n}{SCORED}": msg("the sample of the highest score"),
        f"pass@{n}": msg("a right sample, where there is one"),
    }
    summary = overall(run)
    saved = saving(run)
    found = {estimate.name: estimate for estimate in votes(run, chosen)}
    if saved and saved.majority:
        found[saved.majority.name] = saved.majority
    pairs = ((found.get(name) or summary.estimate(name), said) for name, said in names.items())
    return tuple((estimate, said) for estimate, said in pairs if estimate)


def _user_scores(run: ProbeRun, chosen: Grid) -> list[list[float]]:
    """The user's scores; none unless each answer has one. A failed request is never the best."""
    rows = [[run.samples[place] for place in row] for row in chosen.rows]
    known = run.scores.values
    if not known or any((s.problem, s.repeat) not in known and not s.error for row in rows for s in row):
        return []
    return [[known.get((s.problem, s.repeat), -math.inf) for s in row] for row in rows]


def _answers(run: ProbeRun, chosen: Grid) -> list[list[str | None]]:
    return [[run.grades[place].extracted or None for place in row] for row in chosen.rows]


def _logprobs(run: ProbeRun, chosen: Grid) -> list[list[float | None]]:
    return [[run.samples[place].mean_logprob for place in row] for row in chosen.rows]


def _mark(grade: Grade) -> float:
    return float(-_MARKED.index(grade.tier)) if grade.tier in _MARKED else -9.0


def matrix(run: ProbeRun, chosen: Grid) -> list[list[int]]:
    return [[int(run.grades[place].correct) for place in row] for row in chosen.rows]


def scores(run: ProbeRun, chosen: Grid) -> list[list[float]]:
    return [[run.grades[place].score for place in row] for row in chosen.rows]
