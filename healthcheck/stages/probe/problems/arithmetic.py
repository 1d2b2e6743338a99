"""Arithmetic word problems in three tiers: one operation, two, then multiplication and more steps.

Wording and numbers are few and regular, so that a model of half a million parameters can learn the family and a
real model finds it easy: the probe measures the deployment, not the model's ability.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count

from healthcheck.stages.probe.problems.problem import Dice, Problem, Program, Sign, Step

_PEOPLE = (
    ("Anna", "she"), ("Ben", "he"), ("Carla", "she"), ("David", "he"), ("Emma", "she"), ("Felix", "he"),
    ("Grace", "she"), ("Hugo", "he"), ("Ivy", "she"), ("Jack", "he"), ("Kate", "she"), ("Leo", "he"),
)  # fmt: skip
_THINGS = (
    "apples",
    "books",
    "coins",
    "pens",
    "cards",
    "stickers",
    "marbles",
    "cookies",
    "shells",
    "stamps",
)
_MORE = ("picks {} more", "buys {} more", "finds {} more", "gets {} more")
_FEWER = ("gives away {}", "loses {}", "sells {}", "uses {}")
_LARGEST_CHANGE = {"easy": 20, "medium": 50, "hard": 20}


def arithmetic(tier: str, seed: int) -> Iterator[Problem]:
    """English word problems in endless supply; repeats are possible (`generate` drops them)."""
    return worded(
        Dice("arithmetic", tier, seed),
        f"arithmetic/{tier}/{seed}",
        _question,
        "The answer is {}.",
        "en",
    )


def worded(
    dice: Dice, name: str, question: Callable[[Dice, Program], str], ending: str, language: str
) -> Iterator[Problem]:
    """Word problems from programs, endless; `name` is family/tier/seed, `ending` closes a worked solution."""
    family, tier, _ = name.split("/")
    for serial in count():
        program = program_of(dice, tier)
        yield Problem(
            id=f"{name}/{serial}",
            family=family,
            tier=tier,
            question=question(dice, program),
            answer=str(program.value()),
            program=program,
            worked=f"{program.worked()} {ending.format(program.value())}",
            language=language,
        )


def program_of(dice: Dice, tier: str) -> Program:
    """One change; two changes; or boxes of items, a change, and a second change or an equal split."""
    largest = _LARGEST_CHANGE[tier]
    if tier == "hard":
        start, steps = dice.number(2, 9), [Step(sign=Sign.TIMES, number=dice.number(2, 9))]
    else:
        start, steps = dice.number(2, largest), []
    steps.append(_change(dice, _value(start, steps), largest))
    if tier == "easy":
        return Program(start=start, steps=tuple(steps))
    value = _value(start, steps)
    splits = [number for number in range(2, 10) if value and value % number == 0]
    if tier == "hard" and splits and dice.number(1, 3) == 1:
        steps.append(Step(sign=Sign.OVER, number=dice.pick(splits)))
    else:
        steps.append(_change(dice, value, largest))
    return Program(start=start, steps=tuple(steps))


def _value(start: int, steps: list[Step]) -> int:
    return int(Program(start=start, steps=tuple(steps)).value())


def _change(dice: Dice, value: int, largest: int) -> Step:
    if dice.coin() or value < 3:
        return Step(sign=Sign.PLUS, number=dice.number(2, largest))
    return Step(sign=Sign.MINUS, number=dice.number(1, min(value - 1, largest)))


def _question(dice: Dice, program: Program) -> str:
    name, pronoun = dice.pick(_PEOPLE)
    things = dice.pick(_THINGS)
    first, *changes = program.steps
    if first.sign is Sign.TIMES:
        head = f"{name} has {program.start} boxes with {first.number} {things} each"
    else:
        head, changes = f"{name} has {program.start} {things}", list(program.steps)
    parts = [_wording(dice, step) for step in changes]
    ending = f"How many {things} does {pronoun} have?"
    if changes[-1].sign is Sign.OVER:
        ending = f"How many {things} are in each bag?"
    rest = "".join(f" Then {pronoun} {part}." for part in parts[1:])
    return f"{head} and {parts[0]}.{rest} {ending}"


def _wording(dice: Dice, step: Step) -> str:
    if step.sign is Sign.OVER:
        return f"puts all of them equally into {step.number} bags"
    return dice.pick(_MORE if step.sign is Sign.PLUS else _FEWER).format(step.number)
