"""The interface of the laboratory to the core's probe (specified in `stages/probe/laboratory.py`)."""

from __future__ import annotations

import math

from healthcheck.core.records import JsonValue
from healthcheck.extensions.lab import user_scores
from healthcheck.extensions.lab.user_scores import SCORED
from healthcheck.extensions.lab.weighted_votes import figures_by_score
from healthcheck.stages.probe.records import Grid, ProbeRun
from healthcheck.stages.probe.results import figures
from healthcheck.stages.probe.results.metrics import as_json
from healthcheck.stages.probe.statistics.estimates import Estimate
from healthcheck.text.messages import msg


def votes(run: ProbeRun, chosen: Grid) -> tuple[Estimate, ...]:
    """Weighted maj@k and best@k, by likelihood and by the user's scores, if available."""
    right, said = figures.matrix(run, chosen), figures.answers(run, chosen)
    found: tuple[Estimate, ...] = ()
    if likelihoods := _likelihoods(run, chosen):
        weights = [[math.exp(value) for value in row] for row in likelihoods]
        found += figures_by_score(right, said, weights, name="likelihood")
    scores = user_scores.of_grid(run, chosen)
    return found + (figures_by_score(right, said, scores, name="score") if scores else ())


def _likelihoods(run: ProbeRun, chosen: Grid) -> list[list[float]]:
    """The mean log-probability of each sample; empty unless the server sent all of them."""
    rows = [[run.samples[place].mean_logprob for place in row] for row in chosen.rows]
    known = [[value for value in row if value is not None] for row in rows]
    return known if sum(map(len, known)) == len(chosen.flat) else []


def choices(run: ProbeRun, chosen: Grid) -> tuple[tuple[Estimate, str], ...]:
    """The answers that likelihood and the user's scores choose, if available."""
    n = chosen.repeats
    names = {
        f"weighted maj@{n} (likelihood)": msg("the answer of the greatest likelihood"),
        f"weighted maj@{n}{SCORED}": msg("the answer of the greatest score"),
        f"best@{n}{SCORED}": msg("the sample of the highest score"),
    }
    found = {estimate.name: estimate for estimate in votes(run, chosen)}
    return tuple((found[name], said) for name, said in names.items() if name in found)


def metrics(run: ProbeRun, chosen: Grid) -> dict[str, JsonValue]:
    """The figures of all choices, and the source of the scores."""
    source = user_scores.stored(run.folder).source
    return {
        **{estimate.name: as_json(estimate) for estimate, _ in choices(run, chosen)},
        **({"scores": source} if source else {}),
    }
