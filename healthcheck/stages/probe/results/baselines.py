"""Baselines without a model: simple solvers for each family, to compare a model's accuracy with.

A family whose baselines are as good as the model does not measure the model.
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
    """The accuracy of each applicable baseline; empty if there is none."""
    if not problems or any(problem.kind.runs for problem in problems):
        return {}
    solvers: dict[str, Callable[[Problem], str]] = {
        msg("most frequent answer"): _constant(problems)
    }
    if any(problem.program for problem in problems) and all(
        problem.kind is AnswerKind.NUMBER for problem in problems
    ):
        solvers[msg("keyword")] = keyword
    return {
        name: sum(grade(problem, solve(problem)).score for problem in problems) / len(problems)
        for name, solve in solvers.items()
    }


def keyword(problem: Problem) -> str:
    """The first two numbers, added or subtracted by one keyword, without regard to the problem's structure."""
    numbers = [int(number) for number in re.findall(r"\d+", problem.question)]
    if len(numbers) < 2:
        return str(numbers[0]) if numbers else ""
    return str(
        numbers[0] + numbers[1] if _MORE.search(problem.question) else numbers[0] - numbers[1]
    )


def _constant(problems: Sequence[Problem]) -> Callable[[Problem], str]:
    answer = Counter(problem.answer for problem in problems).most_common(1)[0][0]
    return lambda _: answer
