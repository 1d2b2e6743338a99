"""The run folder: the settings, samples and figures of a run; writes and reads them.

configs/probe.json       the settings as used, the server, the digest of the problems
configs/probe.toml       the options as given, for another run like it
configs/problems.jsonl   the problems
logs/samples.jsonl       the journal: every sample as it arrived
logs/alone.jsonl         samples that were asked one at a time, after those
logs/outcome.json        why the run ended and how long it took
results/metrics.json     the figures
results/grades.jsonl     the answer of each sample, and whether it is right
report.json              the report, even without samples
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from healthcheck.core.records import JsonValue
from healthcheck.errors import UsageError, reason_of
from healthcheck.stages.probe.grading import Grade, grade
from healthcheck.stages.probe.grading.code import AT_ONCE
from healthcheck.stages.probe.problems import Problem
from healthcheck.stages.probe.records import EndedBy, ProbeRun, ProbeSettings, Sample
from healthcheck.stages.probe.run import journal
from healthcheck.stages.probe.run.bank import fingerprint
from healthcheck.stages.probe.run.layout import (
    ALONE,
    GRADES,
    JOURNAL,
    METRICS,
    OUTCOME,
    PROBLEMS,
    REPORT,
    SETTINGS,
)
from healthcheck.system import json_text
from healthcheck.system.files import read_bounded, write_atomically
from healthcheck.system.json_text import JsonError
from healthcheck.text.messages import msg

MAX_CONFIG_BYTES = 2**20
MAX_METRICS_BYTES = 2**26
MAX_PROBLEMS_BYTES = 2**30


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """The head of a run: `fingerprint` is a digest of its problems, `started` the local time."""

    settings: ProbeSettings
    fingerprint: str
    started: str
    server: Mapping[str, Any] = field(default_factory=dict)
    drawn_from: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a run ended.

    Attributes:
        stopped: why it ended early, in words; "" if it did not.
        seconds: over all its parts.
        ended_by: why it ended early, as a code. None if it did not.
    """

    stopped: str
    seconds: float
    ended_by: EndedBy | None = None


def begin(
    folder: Path,
    settings: ProbeSettings,
    problems: Sequence[Problem],
    server: Mapping[str, Any],
    *,
    drawn_from: int | None = None,
) -> None:
    """Write the head of a new run.

    Raises:
        UsageError: the folder cannot be written to.
    """
    head = Stored(
        settings=settings,
        fingerprint=fingerprint(problems),
        started=time.strftime("%Y%m%d_%H%M%S"),
        server=server,
        drawn_from=drawn_from,
    )
    _write(folder, PROBLEMS, b"".join(json_text.dump_line(problem) for problem in problems))
    _write(folder, SETTINGS, json_text.dump(head))


def move(folder: Path, url: str) -> None:
    """Record that another server answers the rest of a run.

    Raises:
        UsageError: the folder cannot be written to.
    """
    head = stored(folder)
    _write(
        folder, SETTINGS, json_text.dump(replace(head, settings=replace(head.settings, url=url)))
    )


def _write(folder: Path, name: str, data: bytes) -> None:
    try:
        write_atomically(folder / name, data)
    except OSError as error:
        raise UsageError(
            msg("cannot write to {folder}: {reason}", folder=folder, reason=reason_of(error))
        ) from error


def stored(folder: Path) -> Stored:
    """The head of a run.

    Raises:
        UsageError: the folder holds no run.
    """
    if not (folder / SETTINGS).is_file():
        raise UsageError(
            msg(
                "{folder} is not a run of `npu-adapter probe`: {instead}",
                folder=folder,
                instead=_instead(folder),
            )
        )
    try:
        return json_text.load_as(read_bounded(folder / SETTINGS, MAX_CONFIG_BYTES), Stored)
    except JsonError as error:
        raise UsageError(
            msg(
                "{folder} is not a record of a probe run: {error}",
                folder=folder / SETTINGS,
                error=error,
            )
        ) from error


def _instead(folder: Path) -> str:
    """What the folder holds instead of a run, and what is expected."""
    if not folder.exists():
        return msg("there is nothing of that name")
    if not folder.is_dir():
        packed = msg(", and the zip file has to be unpacked") if folder.suffix == ".zip" else ""
        return msg("it is a file; expected is the folder that --out named{packed}", packed=packed)
    inside = sorted(path.parent.parent for path in folder.glob(f"*/{SETTINGS}"))
    if inside:
        return msg("it has no {settings}; {inside} is one", settings=SETTINGS, inside=inside[0])
    if (folder / "predictions").is_dir():
        return msg(
            "it has no {settings}; a report of the service is for `npu-adapter read`",
            settings=SETTINGS,
        )
    if (folder / REPORT).is_file():
        return msg("nothing was sampled there; its {report} says why", report=REPORT)
    return msg("it has no {settings}; expected is the folder that --out named", settings=SETTINGS)


def write_outcome(folder: Path, outcome: Outcome) -> None:
    write_atomically(folder / OUTCOME, json_text.dump(outcome))


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """The recorded part of a run, ungraded."""

    head: Stored
    problems: tuple[Problem, ...]
    samples: tuple[Sample, ...]
    alone: tuple[Sample, ...]


def recorded(folder: Path) -> Recorded:
    """A run as recorded in its folder.

    Raises:
        UsageError: the folder holds no run, or one of its files is damaged.
    """
    head = stored(folder)
    try:
        lines = read_bounded(folder / PROBLEMS, MAX_PROBLEMS_BYTES).splitlines()
        problems = tuple(json_text.load_as(line, Problem) for line in lines)
        samples, alone = journal.read(folder / JOURNAL), journal.read(folder / ALONE)
    except JsonError as error:
        raise UsageError(msg("{folder} is damaged: {error}", folder=folder, error=error)) from error
    if fingerprint(problems) != head.fingerprint or any(
        sample.problem >= len(problems) for sample in (*samples, *alone)
    ):
        raise UsageError(
            msg("{folder}: the problems are not those that the run was started with", folder=folder)
        )
    return Recorded(head=head, problems=problems, samples=samples, alone=alone)


def load(folder: Path, known: Mapping[int, Grade] | None = None) -> ProbeRun:
    """A run as recorded in its folder, graded again; `known` are grades to reuse, by `Sample.order`.

    Raises:
        UsageError: the folder holds no run, or one of its files is damaged.
        Blocked: answers are to be run, and there is no sandbox.
    """
    found, grades = recorded(folder), known or {}
    head, problems, samples = found.head, found.problems, found.samples
    try:
        outcome = outcome_of(folder)
    except JsonError as error:
        raise UsageError(msg("{folder} is damaged: {error}", folder=folder, error=error)) from error
    planned = len(problems) * head.settings.samples

    def graded(sample: Sample) -> Grade:
        known_one = grades.get(sample.order)
        return known_one or grade(
            problems[sample.problem], sample.text, finish_reason=sample.finish_reason
        )

    with ThreadPoolExecutor(AT_ONCE) as pool:
        each = pool.map if any(problem.kind.runs for problem in problems) else map
        every = tuple(each(graded, samples))
    return ProbeRun(
        settings=head.settings,
        problems=problems,
        samples=samples,
        grades=every,
        planned=planned,
        stopped="" if len(samples) == planned else outcome.stopped,
        ended_by=None if len(samples) == planned else outcome.ended_by,
        seconds=outcome.seconds,
        folder=folder,
        server=head.server,
        drawn_from=head.drawn_from,
        alone=tuple((sample, graded(sample)) for sample in found.alone),
    )


def outcome_of(folder: Path) -> Outcome:
    """How the run ended; a run without a recorded outcome was killed."""
    if not (folder / OUTCOME).exists():
        killed = EndedBy.KILL
        return Outcome(stopped=killed.sentence, ended_by=killed, seconds=0.0)
    return json_text.load_as(read_bounded(folder / OUTCOME, MAX_CONFIG_BYTES), Outcome)


def read_metrics(folder: Path) -> dict[str, JsonValue]:
    """The figures of a run.

    Raises:
        UsageError: they are missing, or the file is damaged.
    """
    try:
        found = json_text.load(read_bounded(folder / METRICS, MAX_METRICS_BYTES))
    except JsonError as error:
        raise UsageError(
            msg("{folder} is damaged: {error}", folder=folder / METRICS, error=error)
        ) from error
    if not isinstance(found, dict):
        raise UsageError(msg("{folder} is damaged: no JSON object", folder=folder / METRICS))
    return found


def write_metrics(run: ProbeRun, figures: Mapping[str, JsonValue]) -> None:
    """Write the figures of a run into its folder."""
    write_atomically(run.folder / METRICS, json_text.dump(figures))


@dataclass(frozen=True, slots=True, kw_only=True)
class GradedSample:
    """The grade of a sample, for other programs; `order` is that of the sample in the journal.

    Attributes:
        answer: what the grader found in the text, in a canonical spelling; "" if it found nothing.
    """

    order: int
    correct: bool
    score: float
    answer: str


def write_grades(run: ProbeRun) -> None:
    """Write the grade of each sample into the folder of a run: the journal is older than the grades."""
    graded = (
        GradedSample(
            order=sample.order, correct=grade.correct, score=grade.score, answer=grade.extracted
        )
        for sample, grade in zip(run.samples, run.grades, strict=True)
    )
    write_atomically(run.folder / GRADES, b"".join(map(json_text.dump_line, graded)))
