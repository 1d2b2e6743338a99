"""Problem families: generated without end from a seed, with exact answers.

The prompt of a problem is `prompt(problem)` and nothing else: the demonstration weights are trained on exactly
`prompt(problem)` → `problem.worked`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice

from healthcheck.errors import UsageError
from healthcheck.probe.problems.arithmetic import arithmetic
from healthcheck.probe.problems.problem import TIERS, Dice, Problem, Program, Step
from healthcheck.wire.chat import Message, user

__all__ = [
    "FAMILIES",
    "TIERS",
    "Dice",
    "Problem",
    "Program",
    "Step",
    "generate",
    "instruction",
    "message",
    "prompt",
]

FAMILIES: dict[str, Callable[[str, int], Iterator[Problem]]] = {
    "arithmetic": arithmetic,
}
_INSTRUCTIONS = {
    "arithmetic": "End with: The answer is N.",
}
_DRAWS_PER_PROBLEM = 20
LARGEST_BANK = 100_000


def generate(family: str, tier: str, seed: int, count: int) -> tuple[Problem, ...]:
    """The first `count` problems of a family and tier that differ in their question; a longer bank begins alike.

    Raises:
        UsageError: there is no such family or tier, or it does not hold so many different problems.
    """
    if family not in FAMILIES or tier not in TIERS:
        raise UsageError(
            f"no problems {family}/{tier}: families are {', '.join(FAMILIES)}; tiers {', '.join(TIERS)}"
        )
    if count > LARGEST_BANK:
        raise UsageError(f"a bank holds at most {LARGEST_BANK} problems, and {count} were asked for")
    found: dict[str, Problem] = {}
    for problem in islice(FAMILIES[family](tier, seed), 1000 + count * _DRAWS_PER_PROBLEM):
        if len(found) >= count:
            break
        found.setdefault(problem.question, problem)
    if len(found) < count:
        raise UsageError(f"{family}/{tier} has no {count} different problems")
    return tuple(found.values())


def prompt(problem: Problem) -> str:
    """The text of the user message: the question, and the form of the answer where the grader looks for one."""
    return f"{problem.question}\n{instruction(problem)}".rstrip()


def instruction(problem: Problem) -> str:
    """What the prompt says after the question, alike for all problems of a family."""
    return _INSTRUCTIONS.get(problem.family, "")


def message(problem: Problem) -> Message:
    """The user message of a problem, as the evaluation client sends it."""
    return user(prompt(problem))
