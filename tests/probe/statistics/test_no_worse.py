"""No worse, worse or open against a reference: error rates and what the samples settle, by simulation."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from healthcheck.stages.probe.statistics.counting import Counts
from healthcheck.stages.probe.statistics.gate import Decision
from healthcheck.stages.probe.statistics.no_worse import (
    Question,
    look,
    more_samples,
    problems_for,
    settles,
)

PROBLEMS, REPEATS, ACCURACY = 60, 3, 0.8
Shares = list[float]


def shares(draw: random.Random, rho: float) -> Shares:
    strength = 1 / rho - 1
    return [
        draw.betavariate(ACCURACY * strength, (1 - ACCURACY) * strength) for _ in range(PROBLEMS)
    ]


def counted(draw: random.Random, chances: Shares) -> Counts:
    return tuple((REPEATS, sum(draw.random() < p for _ in range(REPEATS))) for p in chances)


def decided(question: Question, chances: Shares, draw: random.Random) -> Decision:
    """A run as a probe makes it: rounds over the bank, the first of them sample by sample."""
    gate, order = question.gate, draw.sample(range(PROBLEMS), PROBLEMS)
    evidence, totals = gate.start(), [0.0] * PROBLEMS
    for done in range(1, REPEATS + 1):
        for problem in order:
            score = float(draw.random() < chances[problem])
            totals[problem] += score
            if done == 1:
                evidence = gate.observe(evidence, score - question.expected(problem))
                if evidence.decision is not Decision.OPEN:
                    return evidence.decision
        seen = look(question, totals, done)
        assert seen is not None
        if seen.decision is not Decision.OPEN:
            return seen.decision
    return Decision.OPEN


def copied(draw: random.Random, chances: Shares, share: float) -> Shares:
    """The chances of a server that decides so many of the problems once, for all their samples."""
    return [float(draw.random() < p) if draw.random() < share else p for p in chances]


def shares_of(replicates: int, *, rho: float, loss: str, paired: bool) -> dict[Decision, float]:
    """How often each decision comes, at no loss or at a loss of just the margin ("all" problems, or a "few")."""
    draw, seen = random.Random(f"{rho} {loss} {paired} {replicates}"), Counter[Decision]()
    for _ in range(replicates):
        chances = shares(draw, rho)
        before = counted(draw, chances) if paired else ()
        accuracy = sum(c for _, c in before) / (PROBLEMS * REPEATS) if before else ACCURACY
        margin = settles(accuracy=accuracy, problems=PROBLEMS, repeats=REPEATS, before=before)
        question = Question(
            accuracy=accuracy, problems=PROBLEMS, repeats=REPEATS, margin=margin, before=before
        )  # fmt: skip
        if loss == "all":
            chances = [p * (1 - margin / ACCURACY) for p in chances]
        elif loss == "few":
            lost = margin / ACCURACY
            chances = [0.0 if draw.random() < lost else p for p in chances]
        seen[decided(question, chances, draw)] += 1
    return {decision: seen[decision] / replicates for decision in Decision}


@pytest.mark.parametrize("paired", [False, True])
def test_no_loss_is_settled_in_nine_of_ten_runs_and_rarely_called_one(paired: bool) -> None:
    seen = shares_of(300, rho=0.5, loss="none", paired=paired)
    assert seen[Decision.DEGRADED] <= 0.01 + 2.5 * (0.01 * 0.99 / 300) ** 0.5
    assert seen[Decision.HEALTHY] >= 0.9 - 2.5 * (0.9 * 0.1 / 300) ** 0.5


@pytest.mark.slow
@pytest.mark.parametrize("paired", [False, True])
@pytest.mark.parametrize("rho", [0.1, 0.8])
@pytest.mark.parametrize("loss", ["none", "all", "few"])
def test_either_error_is_at_most_one_percent(paired: bool, rho: float, loss: str) -> None:
    replicates = 1500
    seen = shares_of(replicates, rho=rho, loss=loss, paired=paired)
    wrong = Decision.DEGRADED if loss == "none" else Decision.HEALTHY
    assert seen[wrong] <= 0.01 + 2.5 * (0.01 * 0.99 / replicates) ** 0.5


@pytest.mark.parametrize("share", [0.3, 1.0])
def test_copies_from_an_equal_server_are_rarely_called_a_loss(share: float) -> None:
    """On the whole path of looks; with a margin so small that none of them ends it by "no worse"."""
    replicates, draw, degraded = 400, random.Random(share), 0
    for _ in range(replicates):
        chances = shares(draw, 0.5)
        before = counted(draw, copied(draw, chances, share))
        accuracy = sum(c for _, c in before) / (PROBLEMS * REPEATS)
        question = Question(
            accuracy=accuracy, problems=PROBLEMS, repeats=REPEATS, margin=0.01, before=before
        )  # fmt: skip
        degraded += decided(question, copied(draw, chances, share), draw) is Decision.DEGRADED
    assert degraded / replicates <= 0.01 + 2.5 * (0.01 * 0.99 / replicates) ** 0.5


def test_what_is_settled_shrinks_with_the_square_root_of_the_problems() -> None:
    reached = [settles(accuracy=0.8, problems=problems, repeats=5) for problems in (60, 240, 960)]
    assert reached[0] / reached[1] == pytest.approx(2, rel=0.1)
    assert reached[1] / reached[2] == pytest.approx(2, rel=0.05)
    halved = Question(accuracy=0.8, problems=60, repeats=5, margin=reached[0] / 2)
    assert problems_for(halved) == pytest.approx(240, rel=0.1)


def test_the_samples_that_would_settle_it_do_if_the_change_stays() -> None:
    question = Question(accuracy=0.8, problems=100, repeats=2, margin=0.05)
    last = look(question, [2.0] * 60 + [1.0] * 40, 2)
    assert last is not None
    assert (last.decision, round(last.change, 10)) == (Decision.OPEN, 0.0)
    times = 1 + more_samples(question, last) // 200
    more = Question(accuracy=0.8, problems=100 * times, repeats=2, margin=0.05)
    settled = look(more, ([2.0] * 60 + [1.0] * 40) * times, 2)
    assert settled is not None
    assert settled.decision is Decision.HEALTHY


def test_few_problems_are_left_to_the_sequence() -> None:
    margin = settles(accuracy=0.9, problems=15, repeats=5)
    question = Question(accuracy=0.9, problems=15, repeats=5, margin=margin)
    assert look(question, [5.0] * 15, 5) is None
    assert margin < 0.7


@pytest.mark.parametrize(("margin", "slack"), [(0.0, 0.0), (0.8, 0.0), (0.1, 0.1), (0.1, -0.1)])
def test_questions_without_an_answer_are_refused(margin: float, slack: float) -> None:
    with pytest.raises(ValueError, match="question"):
        Question(accuracy=0.8, problems=60, repeats=3, margin=margin, slack=slack)
