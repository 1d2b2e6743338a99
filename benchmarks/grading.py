"""The kit's grader beside others, on the labelled answers of tests/probe/data/answers.toml.

Each grader gets the same texts and right answers. AISBench and lm-evaluation-harness run in their own environments
and are left out where those are missing (`make peers`).
"""

from __future__ import annotations

import json
import logging
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import math_verify
from measure import ROOT, Bound, Section, main

from healthcheck.stages.probe.aisbench.grader import client_grade
from healthcheck.stages.probe.grading import grade
from tests.support.answers import Labelled, labelled

KIT = "npu-adapter-kit"
KINDS = ("number", "expression", "words", "choice")
Verdicts = Mapping[int, bool]
"""By the place of an answer: called right or not. What a grader is not made for is left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Errors:
    """Right answers called wrong, and others called right."""

    refused: tuple[Labelled, ...]
    accepted: tuple[Labelled, ...]

    def __str__(self) -> str:
        return f"{len(self.refused)} / {len(self.accepted)}"


def grading() -> Section:
    answers = labelled()
    graders: dict[str, Verdicts] = {
        KIT: kit(answers),
        f"math-verify {version('math-verify')}": by_math_verify(answers),
        **peer("lm-evaluation-harness", "lm_eval", "lm-eval", "lm_eval_harness.py", answers),
        **peer("AISBench", "ais_bench_benchmark", "aisbench", "aisbench.py", answers),
        "AISBench's GSM8K, emulated here": emulated(answers),
    }
    own = errors(answers, graders[KIT])
    return Section(
        title="Grading",
        about=f"{len(answers)} answers as models write them, labelled by hand: right ones called wrong / others "
        "called right. A dash: not made for such answers. The others state another result, none, or two, or were "
        "cut off before theirs was whole. All were written for this kit. On answers that were new to its grader, "
        "it had 9 / 2 errors on 206, then 2 / 17 on 33 that attack it, then 21 / 9 on 265, "
        "then 96 / 4 on 1,500 (docs/own-data.md); each led to repairs. On 300 usual ones it then had 2 / 0.",
        header=[
            "grader",
            *(counted(answers, kind) for kind in KINDS),
            "all",
            "the kit, on the same",
        ],
        rows=[row(name, answers, verdicts, graders[KIT]) for name, verdicts in graders.items()],
        bounds=bounds(answers, graders),
        notes=[
            "What the kit still gets wrong:\n\n"
            + "\n".join(map(line, (*own.refused, *own.accepted)))
        ],
    )


def counted(answers: Sequence[Labelled], kind: str) -> str:
    """The heading of a column, such as "words (96 of 182 right)"."""
    labels = [answer.label for answer in answers if answer.kind == kind]
    return f"{kind} ({labels.count('right')} of {len(labels)} right)"


def line(answer: Labelled) -> str:
    text = answer.text.replace("\n", " ⏎ ")
    return f"- `{text}` for `{answer.gold}` is called {'wrong' if answer.label == 'right' else 'right'}"


def row(name: str, answers: Sequence[Labelled], verdicts: Verdicts, kits: Verdicts) -> list[str]:
    cells = []
    for kind in KINDS:
        part = {place: right for place, right in verdicts.items() if answers[place].kind == kind}
        cells.append(str(errors(answers, part)) if part else "-")
    return [
        name,
        *cells,
        str(errors(answers, verdicts)),
        str(errors(answers, limited(kits, verdicts))),
    ]


def limited(kits: Verdicts, places: Verdicts) -> Verdicts:
    """The kit's verdicts on what another grader is made for."""
    return {place: kits[place] for place in places}


def errors(answers: Sequence[Labelled], verdicts: Verdicts) -> Errors:
    wrong = [
        answers[place]
        for place, right in verdicts.items()
        if right != (answers[place].label == "right")
    ]
    return Errors(
        refused=tuple(answer for answer in wrong if answer.label == "right"),
        accepted=tuple(answer for answer in wrong if answer.label != "right"),
    )


def bounds(answers: Sequence[Labelled], graders: Mapping[str, Verdicts]) -> list[Bound]:
    accepted, lost = errors(answers, graders[KIT]).accepted, []
    for name, verdicts in graders.items():
        other, same = errors(answers, verdicts), errors(answers, limited(graders[KIT], verdicts))
        if len(same.refused) > len(other.refused) or len(same.accepted) > len(other.accepted):
            lost.append(name)
    return [
        Bound(
            promise="no answer that is not right is called right",
            seen=str(len(accepted)),
            kept=not accepted,
        ),
        Bound(
            promise="no other grader has fewer errors of either sort",
            seen=", ".join(lost) or f"none of {len(graders) - 1}",
            kept=not lost,
        ),
    ]


def kit(answers: Sequence[Labelled]) -> Verdicts:
    return {
        place: grade(
            answer.problem(), answer.text, finish_reason="length" if answer.cut else "stop"
        ).correct
        for place, answer in enumerate(answers)
    }


def by_math_verify(answers: Sequence[Labelled]) -> Verdicts:
    """With its default extraction; letters as its StringExtractionConfig finds them."""
    logging.disable()

    def right(answer: Labelled) -> bool:
        text = answer.text.rpartition("</think>")[2]
        if answer.letters:
            letters = [math_verify.StringExtractionConfig(strings=tuple(answer.letters))]
            return bool(math_verify.verify([answer.gold.lower()], math_verify.parse(text, letters)))
        return bool(
            math_verify.verify(math_verify.parse(f"${answer.gold}$"), math_verify.parse(text))
        )

    return {place: right(answer) for place, answer in enumerate(answers) if answer.kind != "words"}


def emulated(answers: Sequence[Labelled]) -> Verdicts:
    return {
        place: client_grade(answer.text, answer.gold)[1]
        for place, answer in enumerate(answers)
        if answer.kind == "number"
    }


def peer(
    name: str, distribution: str, environment: str, script: str, answers: Sequence[Labelled]
) -> dict[str, Verdicts]:
    """What a grader in another environment says; empty where that is not installed."""
    folder = ROOT / f".venv-{environment}"
    installed = folder.glob(f"lib/python*/site-packages/{distribution}-*.dist-info")
    found = [path.name.split("-")[1].removesuffix(".dist") for path in installed]
    if not found:
        return {}
    asked = [
        {"kind": one.kind, "gold": one.gold, "text": one.text, "options": options(one)}
        for one in answers
    ]
    done = subprocess.run(
        [folder / "bin/python", Path(__file__).with_name("graders") / script],
        input=json.dumps(asked), capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    if done.returncode:
        sys.exit(done.stderr[-4000:])
    return {f"{name} {found[0]}": dict(enumerate(json.loads(done.stdout.splitlines()[-1])))}


def options(answer: Labelled) -> dict[str, str]:
    lines = answer.question.splitlines()[1:]
    return dict(line.split(". ", 1) for line in lines) if answer.letters else {}


if __name__ == "__main__":
    main(grading)
