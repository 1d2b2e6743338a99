"""The price of the answer contract: the kit's grader on the labelled answers of tests/probe/data.

The labelled answers are known to anyone who changes the grader, so these figures are in sample. They do not
predict errors on other answers. They cannot be compared with graders that never saw these answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from measure import Bound, Section, main

from healthcheck.stages.probe.grading import Grade, grade
from tests.support.answers import Labelled, fresh, labelled, otherwise

USUAL = "f"
ATTACKS = "g"


@dataclass(frozen=True, slots=True, kw_only=True)
class Graded:
    """A labelled answer with its grade."""

    answer: Labelled
    grade: Grade

    @property
    def right(self) -> bool:
        return self.answer.label == "right"


def grading() -> Section:
    own, new = graded(labelled()), graded(fresh())
    usual = [one for one in new if one.answer.about == USUAL]
    attacks = [one for one in new if one.answer.about == ATTACKS]
    various = [one for one in new if one.answer.about not in {USUAL, ATTACKS}]
    questions = [one for one in usual if one.answer.kind != "words"]
    as_labelled = sum(one.grade.correct == one.right for one in questions)
    accepted = sum(one.grade.correct and not one.right for one in questions)
    return Section(
        title="Grading",
        about="Labelled answers in English and Chinese. Right ones: found right in the form that the prompt asks "
        "for, and with the one lenient reading. All: form missed. Right ones refused, other ones accepted. The "
        "grader was changed with these answers at hand.",
        header=[
            "answers",
            "right",
            "right in the form",
            "right with fallback",
            "form missed",
            "right refused",
            "others accepted",
        ],
        rows=[
            row("usual answers to questions like GSM8K, MATH, MMLU, C-Eval", usual),
            row("various answers, five sets", various),
            row("attacks on an earlier grader", attacks),
            row("answers that an earlier grader was made with", own),
        ],
        bounds=[
            Bound(
                promise="of usual answers with a number, letter or expression, 97 % are graded as labelled",
                seen=f"{100 * as_labelled / len(questions):.1f} %",
                kept=as_labelled >= 0.97 * len(questions),
            ),
            Bound(
                promise="and at most one in 200 is accepted although it is not right",
                seen=str(accepted),
                kept=200 * accepted <= len(questions),
            ),
        ],
        notes=["What the kit grades otherwise than labelled:\n\n" + "\n".join(reasons())],
    )


def graded(answers: Sequence[Labelled]) -> list[Graded]:
    return [
        Graded(
            answer=one,
            grade=grade(one.problem(), one.text, finish_reason="length" if one.cut else "stop"),
        )
        for one in answers
    ]


def row(name: str, answers: Sequence[Graded]) -> list[str]:
    right = [one for one in answers if one.right]
    counts = (
        sum(one.grade.strict for one in right),
        sum(one.grade.correct for one in right),
        sum(one.grade.form_missed for one in answers),
        sum(not one.grade.correct for one in right),
        sum(one.grade.correct and not one.right for one in answers),
    )
    return [f"{name} ({len(answers)})", str(len(right)), *map(str, counts)]


def reasons() -> list[str]:
    """The reasons of the rows in graded_otherwise.jsonl with their counts, the most frequent first."""
    counts: dict[str, int] = {}
    for each in otherwise():
        verdict = "right, refused" if each.answer.label == "right" else "not right, accepted"
        counts[f"{verdict}: {each.reason}"] = counts.get(f"{verdict}: {each.reason}", 0) + 1
    return [f"- {count} {reason}" for reason, count in sorted(counts.items(), key=lambda c: -c[1])]


if __name__ == "__main__":
    main(grading)
