"""Problem families: an endless supply generated from a seed, with exact answers.

The prompt of a problem is exactly `prompt(problem)`: the demonstration weights are trained on `prompt(problem)` →
`problem.worked`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice

from healthcheck.contract import Task
from healthcheck.core.records import JsonValue
from healthcheck.errors import UsageError
from healthcheck.stages.probe.problems.arithmetic import arithmetic
from healthcheck.stages.probe.problems.chinese import arithmetic_zh
from healthcheck.stages.probe.problems.forms import FORMS
from healthcheck.stages.probe.problems.pictures import address, pictures
from healthcheck.stages.probe.problems.problem import (
    TIERS,
    AnswerKind,
    Dice,
    Problem,
    Program,
    Sign,
    Step,
)
from healthcheck.text.messages import msg
from healthcheck.wire.chat import Message, user

__all__ = [
    "FAMILIES",
    "FAMILY_OF",
    "TIERS",
    "AnswerKind",
    "Dice",
    "Problem",
    "Program",
    "Sign",
    "Step",
    "generate",
    "instruction",
    "message",
    "prompt",
    "requested",
]

FAMILIES: dict[str, Callable[[str, int], Iterator[Problem]]] = {
    "arithmetic": arithmetic,
    "arithmetic-zh": arithmetic_zh,
    "pictures": pictures,
}
FAMILY_OF = {
    Task.TEXT_GENERATION: "arithmetic",
    Task.IMAGE_TEXT_TO_TEXT: "pictures",
    Task.ANY_TO_ANY: "pictures",
}
"""The families of problems for each task: a vision model gets problems with images."""
_STEP_BY_STEP = {"en": "Let's think step by step. ", "zh": "请逐步思考。"}
"""Before the instruction of GSM8K's problems."""
_DRAWS_PER_PROBLEM = 20
LARGEST_BANK = 100_000


def generate(family: str, tier: str, seed: int, count: int) -> tuple[Problem, ...]:
    """The first `count` distinct problems of a family and tier; a longer bank begins with the same ones.

    Raises:
        UsageError: there is no such family or tier, or it has fewer distinct problems.
    """
    if family not in FAMILIES or tier not in TIERS:
        raise UsageError(
            msg(
                "no problems {family}/{tier}: families are {families}; tiers {tiers}",
                family=family,
                tier=tier,
                families=", ".join(FAMILIES),
                tiers=", ".join(TIERS),
            )
        )
    if count > LARGEST_BANK:
        raise UsageError(
            msg(
                "a bank holds at most {largest_bank} problems, and {count} were asked for",
                largest_bank=LARGEST_BANK,
                count=count,
            )
        )
    found: dict[tuple[str, tuple[bytes, ...]], Problem] = {}
    for problem in islice(FAMILIES[family](tier, seed), 1000 + count * _DRAWS_PER_PROBLEM):
        if len(found) >= count:
            break
        found.setdefault((problem.question, problem.images), problem)
    if len(found) < count:
        raise UsageError(
            msg(
                "{family}/{tier} has no {count} different problems, only {found}",
                family=family,
                tier=tier,
                count=count,
                found=len(found),
            )
        )
    return tuple(found.values())


def prompt(problem: Problem) -> str:
    """The text of the user message: the question, and the form of the answer that the grader looks for."""
    return f"{problem.question}\n{instruction(problem)}".rstrip()


def instruction(problem: Problem) -> str:
    """The instruction after the question: the form of the answer, in the language of the question."""
    form = FORMS[problem.kind]
    chinese = problem.language == "zh"
    asked = form.chinese if chinese else form.english
    steps = problem.family == "gsm8k" and problem.kind is AnswerKind.NUMBER
    return _STEP_BY_STEP["zh" if chinese else "en"] + asked if steps else asked


def requested(problem: Problem) -> str:
    """The right answer in the form that the prompt asks for; the bare answer if that is a word or code."""
    match problem.kind:
        case AnswerKind.NUMBER | AnswerKind.CHOICE | AnswerKind.PHRASE:
            chinese = problem.language == "zh"
            return f"答案是{problem.answer}。" if chinese else f"The answer is {problem.answer}."
        case AnswerKind.EXPRESSION:
            return rf"\boxed{{{problem.answer}}}"
        case _:
            return problem.answer


def message(problem: Problem, text: str | None = None) -> Message:
    """The user message of a problem: plain text, or text and then pictures, as the evaluation client sends them.

    `text` is the text of the message, None for `prompt(problem)`.
    """
    text = prompt(problem) if text is None else text
    if not problem.images:
        return user(text)
    parts: list[JsonValue] = [{"type": "text", "text": text}]
    parts += [
        {"type": "image_url", "image_url": {"url": address(picture)}} for picture in problem.images
    ]
    return {"content": parts, "role": "user"}
