"""The labelled answers of tests/probe/data: those that the grader was made with, and those that were new to it."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from healthcheck.stages.probe.grading import golds
from healthcheck.stages.probe.problems import AnswerKind, Problem

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FILE = Path(__file__).parents[1] / "probe" / "data" / "answers.toml"
FRESH = FILE.with_name("fresh.jsonl")
OTHERWISE = FILE.with_name("graded_otherwise.jsonl")
LABELS = ("right", "wrong", "none")


@dataclass(frozen=True, slots=True, kw_only=True)
class Labelled:
    """An answer, its subject, and its label: "right", "wrong", or "none" if it states no answer."""

    kind: str
    about: str
    gold: str
    text: str
    label: str
    cut: bool
    question: str
    letters: str

    def problem(self) -> Problem:
        """The problem, as from a user's data set, that it answers."""
        kind = AnswerKind.CHOICE if self.letters else golds.kind_of(self.gold)
        return Problem(
            id="x",
            family="qa",
            tier="",
            question=self.question,
            answer=self.gold,
            kind=kind,
            letters=self.letters,
        )


def labelled() -> tuple[Labelled, ...]:
    groups = tomllib.loads(FILE.read_text("utf-8"))["group"]
    return tuple(
        Labelled(
            kind=group["kind"], about=group["about"], gold=group["gold"], text=text, label=label,
            cut=group.get("cut", False), question=group.get("question", "?"), letters=group.get("letters", ""),
        )
        for group in groups
        for label in LABELS
        for text in group.get(label, ())
    )  # fmt: skip


def fresh() -> tuple[Labelled, ...]:
    """Six sets of 300 answers, each written apart, labelled before the grader saw them; and attacks on its rules."""
    return tuple(_fresh(json.loads(line)) for line in FRESH.read_text("utf-8").splitlines())


@dataclass(frozen=True, slots=True, kw_only=True)
class Otherwise:
    """A row that is graded otherwise than it is labelled.

    Attributes:
        before: whether the grader before the answer contract called it right.
        reason: why it is graded so.
    """

    answer: Labelled
    before: bool
    reason: str


def otherwise() -> tuple[Otherwise, ...]:
    """The rows of both files that are graded otherwise than labelled: the price of the answer contract."""
    rows = [json.loads(line) for line in OTHERWISE.read_text("utf-8").splitlines()]
    by_text = {(one.about, one.gold, one.text): one for one in (*labelled(), *fresh())}
    return tuple(
        Otherwise(
            answer=by_text[row["about"], row["gold"], row["text"]],
            before=row["before"],
            reason=row["reason"],
        )
        for row in rows
    )


def _fresh(row: dict[str, Any]) -> Labelled:
    options = dict(zip("ABCDEFGHIJ", row.get("choices", ()), strict=False))
    question = "\n".join(
        (row["question"], *(f"{letter}. {option}" for letter, option in options.items()))
    )
    return Labelled(
        kind=row["kind"], about=row["set"], gold=row["gold"], text=row["text"], cut=False, question=question,
        label="right" if row["right"] else "wrong", letters="".join(options),
    )  # fmt: skip
