"""Metrics of one problem from the answers themselves: votes and agreement of its n samples.

An answer that could not be extracted is None: it never votes, but counts among the n samples.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

Answers = Sequence[str | None]


def maj_at_n(answers: Answers, correct: Sequence[int]) -> float:
    """P(the most frequent answer is right), ties broken at random: the mean share of right samples of each mode.

    0 without votes. Graders see more than the extracted text, so equal answers may differ in correctness.
    """
    groups: defaultdict[str, list[int]] = defaultdict(list)
    for answer, right in zip(answers, correct, strict=True):
        if answer is not None:
            groups[answer].append(right)
    most = max(map(len, groups.values()), default=0)
    modes = [sum(group) / most for group in groups.values() if len(group) == most]
    return sum(modes) / len(modes) if modes else 0.0


def first_of_most(answers: Answers, correct: Sequence[int]) -> float:
    """The share of right samples of the most frequent answer, of several the one that came first."""
    said = Counter(answer for answer in answers if answer is not None)
    if not said:
        return 0.0
    most = said.most_common(1)[0][0]  # of equal counts the first that was met
    return (
        sum(right for answer, right in zip(answers, correct, strict=True) if answer == most)
        / said[most]
    )


def agreement(answers: Answers) -> float:
    """The share of the most frequent answer, right or wrong."""
    return max(
        Counter(answer for answer in answers if answer is not None).values(), default=0
    ) / len(answers)


def wrong_consensus(answers: Answers, correct: Sequence[int]) -> int:
    """1 if more than half of the samples give the same wrong answer: a systematic error, not noise."""
    wrong = Counter(
        a for a, right in zip(answers, correct, strict=True) if a is not None and not right
    )
    return int(2 * max(wrong.values(), default=0) > len(answers))
