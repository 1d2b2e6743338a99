"""The true figures of a task, recomputed from its predictions, problem by problem."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from healthcheck.errors import UsageError
from healthcheck.extensions.service_report.task import MAX_REPEATS, Answered, ClientTask
from healthcheck.stages.probe.aisbench.client_results import client_results, printed
from healthcheck.stages.probe.aisbench.grader import NO_ANSWER, client_gold, client_grade
from healthcheck.stages.probe.aisbench.textvqa import client_soft
from healthcheck.stages.probe.grading import Grade, golds, grade
from healthcheck.stages.probe.problems import AnswerKind, Problem
from healthcheck.stages.probe.statistics.counting import HARD_THRESHOLD, hard
from healthcheck.stages.probe.statistics.estimates import Summary
from healthcheck.stages.probe.statistics.summary import Scores, summarize, summarize_scores
from healthcheck.text.messages import msg

MAX_SAMPLES = 300_000
"""For all tasks of a report, including samples without a prediction."""
_MOST_COUNTED = 2_000_000
"""Samples for which printed figures are computed repeatedly, to explain them."""
_PRINTED = re.compile(r"\d{1,3}\.\d\d")
_WHOLE = re.compile(r"-?\d{1,30}")
_LARGER_BANKS = 2_000
"""The most problems without any prediction to try as an explanation of the printed figures."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Graded:
    """One sample, graded twice.

    Attributes:
        answered: None if the request has no prediction.
        score: by the client's own rule; 0 or 1 except for a task with soft scores.
        client_read: what the client extracted, "NULL" for nothing.
        kit: the kit's grade; None if the answer is not a number that the kit can compare with a text.
    """

    answered: Answered | None
    score: float
    client_read: str
    kit: Grade | None

    @property
    def client(self) -> bool:
        """Whether the sample is right by the client's own rule."""
        return self.score > HARD_THRESHOLD


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A task, recomputed.

    Attributes:
        repeats: n.
        grid: N × n samples, problem-major, in the order of the predictions file; a request without a prediction is
            a wrong sample, as in AISBench.
        emulated: AISBench's figures for these predictions; None if its grader is not emulated.
        truth: the figures for the same correctness with samples grouped by problem.
        answered: the same without unanswered requests.
        regraded: the figures by the kit's grader.
        problems_implied: problems without any prediction that the printed figures imply, 0 if they follow from the
            predictions alone; None if no number explains them.
    """

    task: ClientTask
    repeats: int
    grid: tuple[tuple[Graded, ...], ...]
    truth: Summary | None
    regraded: Summary | None
    emulated: dict[str, str] | None = None
    answered: Summary | None = None
    problems_implied: int | None = 0

    @property
    def unanswered(self) -> int:
        """The number of requests without a prediction."""
        return sum(sample.answered is None for row in self.grid for sample in row)

    @property
    def samples(self) -> tuple[Graded, ...]:
        """The answered samples."""
        return tuple(sample for row in self.grid for sample in row if sample.answered is not None)


Rule = Callable[[Answered], tuple[str, float]]
"""The client's reading of an answer, and its score."""
_MISSING = Graded(answered=None, score=0.0, client_read=NO_ANSWER, kit=Grade())


def read_tasks(tasks: Iterable[ClientTask]) -> tuple[Reading, ...]:
    """Recompute the tasks of a report.

    Raises:
        UsageError: the tasks have more samples than any real report.
    """
    tasks = tuple(tasks)
    samples = sum(problems * repeats for problems, repeats in map(_size, tasks))
    if samples > MAX_SAMPLES:
        raise UsageError(
            msg(
                "the largest number (id) of a problem and the samples of each make {samples} samples; a "
                "report has at most {max_samples}",
                samples=samples,
                max_samples=MAX_SAMPLES,
            )
        )
    return tuple(map(read_task, tasks))


def read_task(task: ClientTask) -> Reading:
    """Recompute a task. Uses its dumped details if its predictions are missing or of an unknown kind."""
    rule = _rule(task)
    grid = _grid(task, rule or _by_number)
    repeats = len(grid[0]) if grid else task.repeats or 0
    regraded = _regraded(grid)
    if rule is None:
        truth = summarize(true_matrix(task.details)) if task.details else None
        return Reading(task=task, repeats=repeats, grid=grid, truth=truth, regraded=regraded)
    implied = _implied(task, _client_scores(grid))
    grid += ((_MISSING,) * repeats,) * (implied or 0)
    scores = _client_scores(grid)
    matrix = hard(scores)
    answered = [[s.score for s in row if s.answered] for row in grid]
    return Reading(
        task=task,
        repeats=repeats,
        grid=grid,
        emulated=printed(client_results(matrix, scores)),
        truth=summarize_scores(scores),
        answered=summarize_scores([row for row in answered if row]),
        regraded=_regraded(grid),
        problems_implied=implied,
    )


def true_matrix(groups: Sequence[Sequence[int]]) -> tuple[tuple[int, ...], ...]:
    """The N × n matrix behind AISBench's dumped groups: sample t = g*n + i is replica t // N of problem t % N."""
    flat = [right for row in groups for right in row]
    problems = len(groups)
    return tuple(tuple(flat[problem::problems]) for problem in range(problems))


def _grid(task: ClientTask, rule: Rule) -> tuple[tuple[Graded, ...], ...]:
    """The N × n samples. Like AISBench, takes the first n of a problem, and fills up with empty ones."""
    problems, repeats = _size(task)
    by_problem: defaultdict[int, list[Answered]] = defaultdict(list)
    for answer in task.answered:
        by_problem[answer.id].append(answer)
    questions = {
        answer.id: _problem(answer)
        for answer in {answer.id: answer for answer in task.answered}.values()
    }
    rows = []
    for problem in range(problems):
        known: list[Answered | None] = [*by_problem[problem][:repeats]]
        known += [None] * (repeats - len(known))
        rows.append(tuple(_graded(answer, questions.get(problem), rule) for answer in known))
    return tuple(rows)


def _size(task: ClientTask) -> tuple[int, int]:
    """The number of problems, and of samples per problem; 0 without answers."""
    if not task.answered:
        return 0, 0
    answers = Counter(answer.id for answer in task.answered)
    repeats = task.repeats or min(MAX_REPEATS, max(answers.values()))
    return max((*answers, *(request.id for request in task.failed))) + 1, repeats


def _graded(answer: Answered | None, problem: Problem | None, rule: Rule) -> Graded:
    if answer is None:
        return _MISSING
    read, score = rule(answer)
    kit = grade(problem, answer.text) if problem else None
    return Graded(answered=answer, score=score, client_read=read, kit=kit)


def _problem(answered: Answered) -> Problem | None:
    """The problem for the kit's grader; None without an answer to compare with."""
    answer = client_gold(answered.gold).strip()
    kind = golds.kind_of(answer)
    problem = Problem(
        id=f"report-{answered.id}", family="report", tier="", question="", answer=answer, kind=kind
    )
    if answered.references:
        return replace(
            problem, kind=AnswerKind.SOFT, references=tuple(r.answer for r in answered.references)
        )
    return problem if answer and kind is not AnswerKind.EXPRESSION else None


def _rule(task: ClientTask) -> Rule | None:
    """The client's rule by the configuration, or else by the answers; None if unknown."""
    soft = any(answer.references for answer in task.answered)
    if task.without_gold == len(task.answered):
        return None
    if task.evaluator.endswith("TEXTEvaluator"):
        return _by_references if soft else None
    if task.evaluator:
        return _by_number if "Gsm8k" in task.evaluator else None
    golds = [client_gold(answer.gold).strip() for answer in task.answered]
    return (
        _by_references
        if soft
        else _by_number
        if any(_WHOLE.fullmatch(gold) for gold in golds)
        else None
    )


def _by_number(answer: Answered) -> tuple[str, float]:
    read, right = client_grade(answer.text, answer.gold)
    return read, float(right)


def _by_references(answer: Answered) -> tuple[str, float]:
    return client_soft(answer.text, answer.references)


def _client_scores(grid: Sequence[Sequence[Graded]]) -> Scores:
    return tuple(tuple(sample.score for sample in row) for row in grid)


def _implied(task: ClientTask, scores: Scores) -> int | None:
    """The number of problems without predictions that reproduces the printed figures; None if no number does."""
    wanted = printed(task.results or {}) or dict(task.printed)
    wanted = {name: figure for name, figure in wanted.items() if _PRINTED.fullmatch(figure)}
    own = printed(client_results(hard(scores), scores))
    if not wanted.keys() & own.keys():
        return 0
    average = next(iter(own))
    right, repeats, counted = sum(map(sum, scores)), len(scores[0]), 0
    for more in range(_LARGER_BANKS):
        problems = len(scores) + more
        rough = 100 * right / (problems * repeats)
        if abs(rough - float(wanted.get(average, rough))) > 0.011:
            continue
        counted += problems * repeats
        if counted > _MOST_COUNTED:
            break
        larger = (*scores, *((0.0,) * repeats,) * more)
        figures = printed(client_results(hard(larger), larger))
        if all(wanted.get(name, figure) == figure for name, figure in figures.items()):
            return more
    return None


def _regraded(grid: Sequence[Sequence[Graded]]) -> Summary | None:
    if not grid or any(sample.kit is None for row in grid for sample in row):
        return None
    return summarize_scores([[s.kit.score if s.kit else 0.0 for s in row] for row in grid])
