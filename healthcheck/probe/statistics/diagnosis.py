"""The figures beside the headline: clustering, order, calibration, and the meaning of their combination."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from healthcheck.probe.statistics.calibration import calibration
from healthcheck.probe.statistics.correlation import (
    Clustering,
    OrderTest,
    clustering,
    effective_k,
    iid_gap,
    order_test,
)
from healthcheck.probe.statistics.laws import Profile, band, feasible, profile, targets
from healthcheck.probe.statistics.metrics import Matrix
from healthcheck.probe.statistics.records import Estimate
from healthcheck.probe.statistics.summary import stratified_average, summarize
from healthcheck.probe.statistics.voting import Answers, agreement_at_k


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """One tier's distance from independent samples, and how many of those its k samples are worth."""

    tier: str
    gap: Estimate
    effective_k: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """Everything about a complete run that its four headline figures do not say.

    Attributes:
        stratified: avg@n in the fixed mix of tiers, None for a single tier.
        clustering: ICC and effective samples.
        gaps: the iid gap over all tiers, then of each.
        order: whether wrong answers follow wrong answers; None for one sample a problem.
        calibration: Brier score and ECE; empty without confidences.
        profile: the row of the decision matrix that the point estimates fit, None if none does.
        profile_settled: whether the whole intervals of pass, avg and cons lie in the bands of their values.
        targets: the documentation's targets by scenario: "met" or "missed" by the whole intervals, else "open".
        broken_laws: laws that the figures break, which would be the kit's own error.
    """

    stratified: Estimate | None
    clustering: Clustering
    gaps: tuple[Gap, ...]
    order: OrderTest | None
    calibration: tuple[Estimate, ...]
    profile: Profile | None
    profile_settled: bool
    targets: dict[str, str]
    broken_laws: tuple[str, ...]


def diagnose(
    matrix: Matrix,
    tiers: Sequence[str],
    answers: Sequence[Answers],
    *,
    confidences: Sequence[Sequence[float | None]] | None = None,
    seed: int = 0,
) -> Diagnosis:
    """Diagnose a run.

    Args:
        matrix: correctness, N × n with n the same for all problems; samples in order of dispatch.
        tiers: the tier of each problem.
        answers: extracted answers, same shape as the matrix; None if nothing could be extracted.
        confidences: exp(mean token log-probability) of each sample, None if the server gave none.
        seed: of the bootstrap intervals.

    Raises:
        ValueError: no problem, or rows of different length.
    """
    lengths = {len(row) for row in matrix}
    if len(lengths) != 1:
        raise ValueError("a diagnosis needs the same number of samples for each problem")
    n = lengths.pop()
    summary = summarize(matrix)
    headline = [e for name in ("pass", "avg", "cons") if (e := summary.estimate(f"{name}@{n}"))]
    passed, avg, cons = (estimate.value for estimate in headline)
    agreement = sum(agreement_at_k(said, n) for said in answers) / len(answers)
    names = tuple(dict.fromkeys(tiers))
    return Diagnosis(
        stratified=stratified_average(matrix, tiers) if len(names) > 1 else None,
        clustering=clustering(matrix),
        gaps=_gaps(matrix, tiers, n) if n > 1 else (),
        order=order_test(matrix) if n > 1 else None,
        calibration=calibration(confidences, matrix, seed=seed) if confidences else (),
        profile=profile(passed, avg, cons, agreement) if n > 1 else None,
        profile_settled=n > 1 and settled(headline),
        targets=_targets(headline) if n > 1 else {},
        broken_laws=feasible(avg, passed, cons, n),
    )


def settled(headline: Sequence[Estimate]) -> bool:
    """Whether the whole interval of each figure lies in one band, so that the profile is more than a guess."""
    return all(band(estimate.low) is band(estimate.high) for estimate in headline)


def _targets(headline: Sequence[Estimate]) -> dict[str, str]:
    """All targets are lower bounds: met if the low ends meet them, missed if the high ends do not."""
    surely = targets(*(estimate.low for estimate in headline))
    possibly = targets(*(estimate.high for estimate in headline))
    return {name: "met" if surely[name] else "open" if possibly[name] else "missed" for name in surely}


def _gaps(matrix: Matrix, tiers: Sequence[str], k: int) -> tuple[Gap, ...]:
    names = tuple(dict.fromkeys(tiers))
    parts = [("all", matrix, tiers)]
    if len(names) > 1:
        for name in names:
            rows = [row for row, tier in zip(matrix, tiers, strict=True) if tier == name]
            parts.append((name, rows, [name] * len(rows)))
    gaps = ((name, rows, iid_gap(rows, own, k)) for name, rows, own in parts)
    return tuple(Gap(tier=name, gap=gap, effective_k=effective_k(rows, k)) for name, rows, gap in gaps if gap)
