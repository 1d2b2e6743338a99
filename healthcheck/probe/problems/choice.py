"""Multiple choice: an arithmetic problem with four numbers to choose from, three of them from likely mistakes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from healthcheck.probe.problems.arithmetic import arithmetic
from healthcheck.probe.problems.problem import AnswerKind, Dice, Problem, Program

LETTERS = "ABCD"


def choice(tier: str, seed: int) -> Iterator[Problem]:
    """Multiple-choice problems without end; the answer is a letter."""
    dice = Dice("choice", tier, seed)
    for serial, base in enumerate(arithmetic(tier, seed)):
        assert base.program
        right = int(base.answer)
        options = dice.shuffled([right, *dice.shuffled(_mistakes(base.program, right))[: len(LETTERS) - 1]])
        letter = LETTERS[options.index(right)]
        listed = "\n".join(f"{name}. {option}" for name, option in zip(LETTERS, options, strict=True))
        yield replace(
            base,
            id=f"choice/{tier}/{seed}/{serial}",
            family="choice",
            kind=AnswerKind.CHOICE,
            question=f"{base.question}\n{listed}",
            answer=letter,
            letters=LETTERS,
            worked=f"{base.program.worked()} The answer is {letter}.",
        )


def _mistakes(program: Program, right: int) -> list[int]:
    """Wrong numbers: a step left out, a slip by one or ten."""
    shorter = (
        Program(start=program.start, steps=program.steps[:place] + program.steps[place + 1 :]).value()
        for place in range(len(program.steps))
    )
    slips = (right + slip for slip in (1, -1, 10, -10, 2))
    whole = (int(value) for value in shorter if value.denominator == 1)
    return [value for value in dict.fromkeys((*whole, *slips)) if value != right and value >= 0]
