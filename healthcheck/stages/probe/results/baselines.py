"""What needs no model: simple solvers for each family, to hold a model's accuracy against.

A family whose baselines are as good as the model measures something else than the model.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from healthcheck.stages.probe.grading import grade
from healthcheck.stages.probe.problems import AnswerKind, Problem
from healthcheck.text.messages import msg

_MORE = re.compile(r"picks|buys|finds|gets|买|得到|找到")


def accuracies(problems: Sequence[Problem]) -> Mapping[str, float]:
    """The accuracy of each baseline that fits the problems; empty if none does."""
    if not problems:
        return {}
    solvers: dict[str, Callable[[Problem], str]] = {msg("most frequent answer"): _constant(problems)}
    if any(problem.program for problem in problems) and all(
        problem.kind is AnswerKind.NUMBER for problem in problems
    ):
        solvers[msg("keyword")] = keyword
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


def _constant(problems: Sequence[Problem]) -> Callable[[Problem], str]:
    answer = Counter(problem.answer for problem in problems).most_common(1)[0][0]
    return lambda _: answer
