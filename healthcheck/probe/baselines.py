"""What needs no model: simple solvers for each family, to hold a model's accuracy against.

A family whose baselines are as good as the model measures something else than the model.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from healthcheck.messages import msg
from healthcheck.probe.grading import grade
from healthcheck.probe.problems import AnswerKind, Problem

_MORE = re.compile(r"picks|buys|finds|gets|买|得到|找到")
_TIMES = re.compile(r"each and|每盒")
_SPLIT = re.compile(r"equally|平均")


def accuracies(problems: Sequence[Problem]) -> Mapping[str, float]:
    """The accuracy of each baseline that fits the problems; empty if none does."""
    if not problems:
        return {}
    solvers: dict[str, Callable[[Problem], str]] = {msg("most frequent answer"): _constant(problems)}
    if any(problem.program for problem in problems) and all(
        problem.kind is AnswerKind.NUMBER for problem in problems
    ):
        solvers |= {"keyword": keyword, "parser": parser}
    return {
        name: sum(grade(problem, solve(problem)).score for problem in problems) / len(problems)
        for name, solve in solvers.items()
    }


def keyword(problem: Problem) -> str:
    """The first two numbers, added or taken away by one key word: no look at the structure of the problem."""
    numbers = [int(number) for number in re.findall(r"\d+", problem.question)]
    if len(numbers) < 2:
        return str(numbers[0]) if numbers else ""
    return str(numbers[0] + numbers[1] if _MORE.search(problem.question) else numbers[0] - numbers[1])


def parser(problem: Problem) -> str:
    """Sentence by sentence, an operation by each key word; reads nothing but the question."""
    value: int | None = None
    for part in re.split(r"[.。，,] ?|(?<=\d) (?=\w+ and )| and (?!\d)", problem.question):
        numbers = [int(number) for number in re.findall(r"\d+", part)]
        if not numbers:
            continue
        if value is None or len(numbers) > 1:
            value = numbers[0] * (numbers[1] if len(numbers) > 1 else 1)
        elif _TIMES.search(part) or "每盒" in part:
            value *= numbers[0]
        elif _SPLIT.search(part):
            value //= max(numbers[0], 1)
        elif _MORE.search(part):
            value += numbers[0]
        else:
            value -= numbers[0]
    return "" if value is None else str(value)


def _constant(problems: Sequence[Problem]) -> Callable[[Problem], str]:
    answer = Counter(problem.answer for problem in problems).most_common(1)[0][0]
    return lambda _: answer
