"""The knowledge of the simulated model: answers to the probe's problems, generated from the same seed."""

from __future__ import annotations

from healthcheck.stages.probe.problems import FAMILIES, TIERS, generate

_SEEN = "pictures"
"""The family whose questions are in the pictures: in words, each tier has only a few questions."""
_ENOUGH_SEEN = 40


def known(
    *, seed: int, count: int, families: tuple[str, ...] = tuple(FAMILIES)
) -> dict[str, tuple[str, str]]:
    """Question → (answer, tier) of the first `count` problems of each family and tier.

    Draws only as many pictures as it takes to meet each of their questions, since drawing takes most of the time.
    """
    return {
        problem.question: (problem.answer, problem.tier)
        for family in families
        for tier in TIERS
        for problem in generate(
            family, tier, seed, min(count, _ENOUGH_SEEN) if family == _SEEN else count
        )
    }
