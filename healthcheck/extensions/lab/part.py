"""The interface of the laboratory to the core's probe (specified in `stages/probe/laboratory.py`)."""

from __future__ import annotations

import math
from collections.abc import Sequence

from healthcheck.core.records import JsonValue
from healthcheck.extensions.lab import user_scores
from healthcheck.extensions.lab.calibration import Calibration, calibration
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


def _calibration(run: ProbeRun, chosen: Grid) -> Calibration | None:
    confidences = [math.exp(value) for row in _likelihoods(run, chosen) for value in row]
    right = [each for row in figures.matrix(run, chosen) for each in row]
    return calibration(confidences, right) if confidences else None


def reliability(run: ProbeRun, chosen: Grid) -> tuple[str, Sequence[tuple[float, Estimate]]] | None:
    """Calibration in a sentence, and the confidence of each bin with its share of right answers."""
    found = _calibration(run, chosen)
    if found is None:
        return None
    said = msg(
        "Expected calibration error {error:.1f} points, Brier score {brier:.3f}, from the likelihood of each "
        "answer in {bins} bins of equally many; a tall mark is what the likelihood promises.",
        error=100 * found.error,
        brier=found.brier,
        bins=len(found.bins),
    )
    return said, found.bins


def metrics(run: ProbeRun, chosen: Grid) -> dict[str, JsonValue]:
    """The figures of all choices, the source of the scores, and the calibration."""
    source = user_scores.stored(run.folder).source
    return {
        **{estimate.name: as_json(estimate) for estimate, _ in choices(run, chosen)},
        **({"scores": source} if source else {}),
        **_calibrated(_calibration(run, chosen)),
    }


def _calibrated(found: Calibration | None) -> dict[str, JsonValue]:
    if found is None:
        return {}
    bins = [{"confidence": confidence, **as_json(share)} for confidence, share in found.bins]
    return {
        "calibration": {
            "expected error": found.error,
            "brier": found.brier,
            "bins": list[JsonValue](bins),
        }
    }
