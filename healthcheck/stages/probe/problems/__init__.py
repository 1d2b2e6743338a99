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
_INSTRUCTIONS = {
    "arithmetic": "End with: The answer is N.",
    "arithmetic-zh": "最后写：答案是N。",
    "pictures": "End with: The answer is N.",
}
_OF_DATA_SETS = {
    "gsm8k": (
        "Let's think step by step. End with: The answer is N.",
        "请逐步思考。最后写：答案是N。",
    ),
    "mcq": ("End with the letter: The answer is X.", "最后写出字母：答案是X。"),
    "qa": ("End with: The answer is X.", "最后写：答案是X。"),
    "vqa": ("Answer with a single word or phrase.", "用一个词或短语回答。"),
    "code": (
        "Write the whole function in one ```python block.",
        "把完整的函数写在一个 ```python 代码块里。",
    ),
    "program": (
        "Write a Python program that reads standard input and prints its output, in one ```python block.",
        "写一个 Python 程序，从标准输入读取，把结果打印到标准输出，放在一个 ```python 代码块里。",
    ),
    "expression": (r"End with the answer in \boxed{}.", r"最后把答案写在\boxed{}中。"),
}
"""In English and Chinese: a data set is prompted in the language of its question."""
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
    """The instruction after the question: the form of the answer.

    It is the same for all problems of a family; in a data set it depends on the language and kind of the row.
    """
    form = "expression" if problem.kind is AnswerKind.EXPRESSION else problem.family
    if form in _OF_DATA_SETS:
        english, chinese = _OF_DATA_SETS[form]
        return chinese if problem.language == "zh" else english
    return _INSTRUCTIONS.get(problem.family, "")


def requested(problem: Problem) -> str:
    """The right answer in the requested form, if that is a sentence or a box; else the bare answer."""
    asked = instruction(problem)
    if problem.kind is AnswerKind.EXPRESSION:
        return rf"\boxed{{{problem.answer}}}"
    sentence = next((cue for cue in ("The answer is ", "答案是") if cue in asked), "")
    end = "。" if sentence == "答案是" else "."
    return f"{sentence}{problem.answer}{end}" if sentence else problem.answer


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
