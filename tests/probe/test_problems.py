from __future__ import annotations

from fractions import Fraction
from itertools import accumulate

import pytest
from hypothesis import given, strategies

from healthcheck.errors import UsageError
from healthcheck.stages.probe.problems import TIERS, Dice, Sign, generate, prompt
from healthcheck.stages.probe.problems.problem import Program


def is_whole(program: Program) -> bool:
    """Whether every value on the way is a whole number that is not negative, as things in boxes are."""
    values = list(
        accumulate(
            program.steps, lambda value, step: step.on(value), initial=Fraction(program.start)
        )
    )
    return all(value.denominator == 1 and value >= 0 for value in values)


@pytest.mark.parametrize("tier", TIERS)
@given(seed=strategies.integers(min_value=0, max_value=2**64))
def test_answers_are_what_the_program_gives(tier: str, seed: int) -> None:
    for problem in generate("arithmetic", tier, seed, 10):
        assert problem.program is not None
        assert problem.answer == str(problem.program.value())
        assert is_whole(problem.program)
        assert problem.worked.endswith(f"={problem.answer}. The answer is {problem.answer}.")


@pytest.mark.parametrize(("tier", "operations"), [("easy", 1), ("medium", 2), ("hard", 3)])
def test_tiers_differ_in_operations_and_every_number_is_in_the_question(
    tier: str, operations: int
) -> None:
    for problem in generate("arithmetic", tier, 3, 300):
        assert problem.program is not None
        assert len(problem.program.steps) == operations
        numbers = [problem.program.start, *(step.number for step in problem.program.steps)]
        assert [
            int(word) for word in problem.question.replace(".", "").split() if word.isdigit()
        ] == numbers


def test_the_hard_tier_multiplies_and_also_divides() -> None:
    signs = {
        step.sign
        for problem in generate("arithmetic", "hard", 0, 100)
        for step in problem.program.steps
    }  # type: ignore[union-attr]
    assert signs == set(Sign)


@pytest.mark.parametrize("tier", TIERS)
def test_a_bank_has_no_problem_twice_and_another_seed_gives_others(tier: str) -> None:
    questions = {problem.question for problem in generate("arithmetic", tier, 0, 2000)}
    assert len(questions) == 2000
    others = {problem.question for problem in generate("arithmetic", tier, 1, 2000)}
    assert len(questions & others) < 200


def test_a_bank_is_the_same_on_every_python() -> None:
    """Written down once from Python 3.11; 3.10 and 3.12 must agree."""
    dice = Dice("x", 1)
    assert [dice.number(1, 6) for _ in range(10)] == [4, 6, 5, 4, 5, 2, 2, 6, 3, 3]
    assert generate("arithmetic", "easy", 0, 3) == generate("arithmetic", "easy", 0, 30)[:3]
    first = generate("arithmetic", "hard", 0, 1)[0]
    assert first.question == (
        "David has 5 boxes with 6 stickers each and picks 9 more. Then he puts all of them equally into 3 bags. "
        "How many stickers are in each bag?"
    )


def test_the_prompt_asks_for_the_form_that_the_worked_solution_has() -> None:
    problem = generate("arithmetic", "easy", 0, 1)[0]
    assert prompt(problem) == problem.question + "\nEnd with: The answer is N."


@pytest.mark.parametrize(
    ("family", "tier", "count"),
    [("poetry", "easy", 1), ("arithmetic", "absurd", 1), ("arithmetic", "easy", 10**6)],
)
def test_what_cannot_be_generated_is_refused(family: str, tier: str, count: int) -> None:
    with pytest.raises(UsageError):
        generate(family, tier, 0, count)
