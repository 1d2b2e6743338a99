"""A run as the evaluation client would have reported it: its files, its grades and its figures."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from healthcheck.core.records import JsonValue
from healthcheck.stages.probe.aisbench.client_files import MODEL, ClientReport, Failure, Prediction, write
from healthcheck.stages.probe.aisbench.client_results import client_results, printed
from healthcheck.stages.probe.aisbench.configuration import (
    ClientDataSet,
    gsm8k,
    infer_config,
    sections,
    version_of,
)
from healthcheck.stages.probe.aisbench.grader import client_gold, client_grade
from healthcheck.stages.probe.problems import AnswerKind, Problem
from healthcheck.stages.probe.records import QUESTION, Grid, ProbeRun, Sample
from healthcheck.stages.probe.results import figures
from healthcheck.stages.probe.run.request import fields, messages
from healthcheck.stages.probe.statistics.counting import hard

_DIGITS = re.compile(r"-?\d+(?:\.\d+)?")
"""Its grader of numbers does not handle answers in words, which data sets of questions have."""
_OWN_QUESTIONS = "qa"
_ROLES = {"system": "SYSTEM", "user": "HUMAN", "assistant": "BOT"}
NOT_EMULATED = "not emulated"


@dataclass(frozen=True, slots=True, kw_only=True)
class Misread:
    """An answer on which the client's grader and this kit differ.

    Attributes:
        read: the client's reading of the answer.
        right: the kit's grade; the client's is the opposite.
    """

    text: str
    expected: str
    read: str
    right: bool


def misread(run: ProbeRun) -> tuple[Misread, ...]:
    """The answers to number problems that the client's own grader grades differently, in dispatch order."""
    found = []
    for sample, grade in zip(run.samples, run.grades, strict=True):
        problem = run.problems[sample.problem]
        reading = None if sample.error else client_reading(problem, sample)
        if reading and reading[1] != grade.correct:
            found.append(Misread(text=sample.text, expected=problem.answer, read=reading[0], right=grade.correct))
    return tuple(found)


def client_figures(run: ProbeRun) -> dict[str, float]:
    """The figures that the client would write: its grader, its grouping; percent.

    Empty if no request was answered, or if its grader for such problems is not emulated.
    """
    return _grouped(run) if all(map(emulated, run.problems)) else {}


def client_column(run: ProbeRun) -> dict[str, str]:
    """The name of each of the client's figures with its text; empty if no request was answered."""
    return printed(client_figures(run)) or dict.fromkeys(_grouped(run), NOT_EMULATED)


def emulated(problem: Problem) -> bool:
    """Whether the client's grader for a problem is emulated: the GSM8K grader for numbers.

    AISBench grades the user's own questions differently, after its own prompt.
    """
    number = problem.kind is AnswerKind.NUMBER and problem.family != _OWN_QUESTIONS
    return number and bool(_DIGITS.fullmatch(client_gold(gold(problem)).strip()))


def _grouped(run: ProbeRun) -> dict[str, float]:
    """The figures in the client's grouping, by its grader or else by the kit's."""
    rows = figures.grid(run).rows
    if all(run.samples[place].error for row in rows for place in row):
        return {}
    scores = [[_client_score(run, place) for place in _answered_first(run, row)] for row in rows]
    return client_results(hard(scores), scores)


def _answered_first(run: ProbeRun, row: Sequence[int]) -> list[int]:
    """The samples of a problem in the client's order, which moves failed requests to the end."""
    return sorted(row, key=lambda place: bool(run.samples[place].error))


def finish(run: ProbeRun) -> None:
    """Write `configs predictions results summary` as the client does."""
    write(_report(run), run.folder)


def client_text(sample: Sample) -> str:
    """The prediction as the client stores it: reasoning, end tag, answer; or only reasoning without the tag."""
    if not sample.reasoning:
        return sample.text
    return f"{sample.reasoning}</think>{sample.text}" if sample.text else sample.reasoning


def gold(problem: Problem) -> str:
    """The answer column in GSM8K's format: a rationale that ends in "#### 18"."""
    if problem.kind is not AnswerKind.NUMBER or "####" in problem.worked:
        return problem.worked or problem.answer
    return f"{problem.worked}\n#### {problem.answer}".lstrip()


def client_reading(problem: Problem, sample: Sample) -> tuple[str, bool] | None:
    """The client's reading of an answer, and whether that is right; None if its grader is not emulated."""
    if not emulated(problem):
        return None
    opinion = client_grade(client_text(sample), gold(problem))
    return opinion.extracted, opinion.correct


def _client_score(run: ProbeRun, place: int) -> float:
    """The client's score of a sample; the kit's own if its grader is not emulated."""
    sample = run.samples[place]
    reading = None if sample.error else client_reading(run.problems[sample.problem], sample)
    return float(reading[1]) if reading else run.grades[place].score


def _report(run: ProbeRun) -> ClientReport:
    template = _turns(run, replace(run.problems[0], question=QUESTION))
    infer = infer_config([(str(turn["role"]), str(turn["prompt"])) for turn in template])
    chosen = figures.grid(run)
    ids = {problem: place for place, problem in enumerate(chosen.problems)}
    places = sorted(chosen.flat)
    answered = [place for place in places if not run.samples[place].error]
    data = _data_set(run, chosen)
    return ClientReport(
        stamp=run.started,
        pid=run.pid,
        dataset=_abbreviation(run),
        version=version_of(infer),
        predictions=tuple(_prediction(run, place, ids) for place in answered),
        failures=tuple(_failure(run, place, ids) for place in places if run.samples[place].error),
        results=_grouped(run) or None,
        config=sections(
            dataset={"abbr": _abbreviation(run), "infer_cfg": infer, **data.config},
            model=_model(run, chosen),
            work_dir=str(run.folder),
        ),
        data=data.files,
    )


def _data_set(run: ProbeRun, chosen: Grid) -> ClientDataSet:
    """The problems of the grid as the client's data set; empty if no single grader is emulated for them."""
    problems = [run.problems[problem] for problem in chosen.problems]
    if not problems or not all(map(emulated, run.problems)):
        return ClientDataSet()
    return gsm8k(_abbreviation(run), [(problem.question, gold(problem)) for problem in problems])


def _model(run: ProbeRun, chosen: Grid) -> dict[str, JsonValue]:
    settings = run.settings
    return {
        "abbr": MODEL,
        "batch_size": settings.concurrency,
        "generation_kwargs": {
            "ignore_eos": False,
            "num_return_sequences": chosen.repeats or settings.samples,
            "temperature": settings.temperature,
            **fields(settings.request, 0),
        },
        "max_out_len": settings.max_tokens,
        "model": settings.model,
        "url": settings.url,
    }


def _prediction(run: ProbeRun, place: int, ids: Mapping[int, int]) -> Prediction:
    sample = run.samples[place]
    problem = run.problems[sample.problem]
    identity = f"{problem.id}/{run.settings.seed}/{sample.repeat}"
    return Prediction(
        id=ids[sample.problem],
        uuid=hashlib.sha256(identity.encode()).hexdigest()[:32],
        origin_prompt=_turns(run, problem),
        prediction=client_text(sample),
        gold=gold(problem),
    )


def _failure(run: ProbeRun, place: int, ids: Mapping[int, int]) -> Failure:
    sample = run.samples[place]
    return Failure(id=ids[sample.problem], input=_turns(run, run.problems[sample.problem]), error_info=sample.error)


def _turns(run: ProbeRun, problem: Problem) -> Sequence[dict[str, JsonValue]]:
    """The messages of a request, with the client's names of the roles; pictures are omitted."""
    said = messages(replace(problem, images=()), run.settings.request)
    return [{"role": _ROLES[str(turn["role"])], "prompt": turn["content"]} for turn in said]


def _abbreviation(run: ProbeRun) -> str:
    name = Path(run.settings.dataset).stem if run.settings.dataset else run.settings.family
    return "".join(character if character.isalnum() else "_" for character in name) or "problems"
