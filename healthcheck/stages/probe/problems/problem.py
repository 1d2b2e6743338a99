"""A problem, the program that computes its answer, and a random generator that repeats on every Python version."""

from __future__ import annotations

import enum
import hashlib
import operator
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeVar

T = TypeVar("T")
TIERS = ("easy", "medium", "hard")


class Sign(enum.Enum):
    PLUS = "+"
    MINUS = "-"
    TIMES = "*"
    OVER = "/"


_OPERATIONS: dict[Sign, Callable[[Fraction, Fraction], Fraction]] = {
    Sign.PLUS: operator.add, Sign.MINUS: operator.sub, Sign.TIMES: operator.mul, Sign.OVER: operator.truediv,
}  # fmt: skip


class AnswerKind(enum.Enum):
    """How an answer is graded.

    NUMBER by value, CHOICE by letter, EXPRESSION by mathematical equality, PHRASE by its words, SOFT by the share
    of agreeing references. CODE and PROGRAM by running the answer: a function against its tests, a program against
    the outputs for given inputs.
    """

    NUMBER = "number"
    CHOICE = "choice"
    EXPRESSION = "expression"
    PHRASE = "phrase"
    SOFT = "soft"
    CODE = "code"
    PROGRAM = "program"

    @property
    def runs(self) -> bool:
        """Whether grading runs the answer."""
        return self in {AnswerKind.CODE, AnswerKind.PROGRAM}


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One operation on the running value."""

    sign: Sign
    number: int

    def on(self, value: Fraction) -> Fraction:
        """The exact value after this step."""
        return _OPERATIONS[self.sign](value, Fraction(self.number))


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A start value and the steps from it: the canonical solution of a word problem."""

    start: int
    steps: tuple[Step, ...] = ()

    def value(self) -> Fraction:
        """Run the steps; returns the exact answer."""
        value = Fraction(self.start)
        for step in self.steps:
            value = step.on(value)
        return value

    def worked(self) -> str:
        """The steps as equations: "4*2=8. 8+9=17."."""
        value, lines = Fraction(self.start), []
        for step in self.steps:
            after = step.on(value)
            lines.append(f"{value}{step.sign.value}{step.number}={after}.")
            value = after
        return " ".join(lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One question with a known answer.

    Attributes:
        id: unique within a bank, and the same for the same family, tier and seed on every machine.
        tier: "easy", "medium", "hard", or "" for data that has no tiers.
        question: the question; `prompt` makes the message from it.
        answer: the canonical answer as text.
        kind: how an answer is graded.
        program: computes the answer exactly; None if the answer is not a calculation.
        worked: a short worked solution that ends in the answer; "" if there is none.
        images: PNG files that belong to the question, in order.
        references: further accepted answers; for a soft score, all accepted answers. For CODE, the function's name,
            the code that an answer may continue, and the tests; for PROGRAM, each input followed by its output.
        letters: the letters to choose from, "" if there is no choice.
    """

    id: str
    family: str
    tier: str
    question: str
    answer: str
    kind: AnswerKind = AnswerKind.NUMBER
    program: Program | None = None
    worked: str = ""
    language: str = "en"
    images: tuple[bytes, ...] = ()
    references: tuple[str, ...] = ()
    letters: str = ""


class Dice:
    """Seeded choices that are the same on every Python version.

    Only `random.Random.random` is documented to keep its sequence; `choice`, `randint` and `shuffle` are not.
    """

    def __init__(self, *seed: object) -> None:
        digest = hashlib.sha256("/".join(map(str, seed)).encode()).digest()
        self._random = random.Random(int.from_bytes(digest, "big"))

    def number(self, low: int, high: int) -> int:
        """A whole number from low to high, both inclusive."""
        return low + int(self._random.random() * (high - low + 1))

    def pick(self, things: Sequence[T]) -> T:
        return things[self.number(0, len(things) - 1)]

    def coin(self) -> bool:
        return self._random.random() < 0.5

    def shuffled(self, things: Sequence[T]) -> list[T]:
        """A new list in random order (Fisher and Yates)."""
        order = list(things)
        for last in range(len(order) - 1, 0, -1):
            other = self.number(0, last)
            order[last], order[other] = order[other], order[last]
        return order
