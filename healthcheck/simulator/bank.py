"""The knowledge of the simulated model: answers to the probe's problems, generated from the same seed."""

from __future__ import annotations

from healthcheck.probe.problems import FAMILIES, TIERS, generate


def known(*, seed: int, count: int, families: tuple[str, ...] = tuple(FAMILIES)) -> dict[str, tuple[str, str]]:
    """Question → (answer, tier) of the first `count` problems of each family and tier."""
    return {
        problem.question: (problem.answer, problem.tier)
        for family in families
        for tier in TIERS
        for problem in generate(family, tier, seed, count)
    }
