"""The probe's facts: sends the samples of a run, or the rest of them, and stores all responses."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

from healthcheck.core.progress import Progress
from healthcheck.core.records import JsonValue
from healthcheck.errors import UsageError
from healthcheck.stages.probe.data_sets.dataset import Drawn
from healthcheck.stages.probe.grading import Grade, grade, judge
from healthcheck.stages.probe.grading.code import AT_ONCE
from healthcheck.stages.probe.problems import AnswerKind, Dice, Problem
from healthcheck.stages.probe.records import (
    FEW_PROBLEMS,
    EndedBy,
    ProbeRun,
    ProbeSettings,
    Sample,
    Slot,
)
from healthcheck.stages.probe.results import verdict
from healthcheck.stages.probe.results.metrics import compute_metrics
from healthcheck.stages.probe.run import folder as run_folder
from healthcheck.stages.probe.run.bank import fingerprint, refuse_unlike, schedule
from healthcheck.stages.probe.run.drawing import drawn, shared
from healthcheck.stages.probe.run.folder import Outcome
from healthcheck.stages.probe.run.journal import Journal, read
from healthcheck.stages.probe.run.layout import ALONE, JOURNAL, refuse_used
from healthcheck.stages.probe.run.meter import Meter
from healthcheck.stages.probe.run.request import differences, sent, text_bytes
from healthcheck.stages.probe.run.sampler import Sampler, connections
from healthcheck.stages.probe.run.server import describe
from healthcheck.system.json_text import plain
from healthcheck.text.messages import Message, joined, msg

__all__ = ["measure", "provenance", "resume", "stored_metrics"]
_TEMPLATE_TOKENS = 256
"""Room for the tokens that a chat template adds to the prompt, if the server does not report them."""
_TEMPLATE_MOST_TOKENS = 2048
"""If the context has this much room beside prompt and max_tokens, the server is not queried."""
_MEASURED_SPARE = 1.25
"""The longest prompt in bytes need not be the longest in tokens."""
MANY_CUT = 64
MOST_ALONE = 20
_SHARE_ALONE, _LEAST_ALONE_S, _MOST_ALONE_S = 0.25, 2.0, 60.0
_LIBRARIES = ("requests", "httptools", "msgspec", judge.PACKAGE)
_SOURCE = ("datasets", "columns", "few_shot", "few_shot_file")
_IDENTITY = (
    "model",
    "family",
    "problems",
    "samples",
    "temperature",
    "max_tokens",
    "seed",
    "logprobs",
)


def measure(settings: ProbeSettings, progress: Progress, out: Path) -> ProbeRun:
    """Run a probe from its start. An interruption (Ctrl-C) ends it early, with the samples so far.

    Raises:
        UsageError: the settings cannot be used, or `out` already holds a run.
        Blocked: no server answers at the URL, or it names no model.
    """
    refuse_used(out)
    settings, chosen, server = _prepared(shared(settings))
    problems = chosen.problems
    settings = replace(settings, problems=len(problems))
    refuse_unlike(settings, problems)
    run_folder.begin(out, settings, problems, server, drawn_from=chosen.of)
    return _collect(
        settings, problems, schedule(len(problems), settings.samples, settings.seed), progress, out
    )


def resume(settings: ProbeSettings, progress: Progress, folder: Path) -> ProbeRun:
    """Continue a run: send the requests that are missing or that failed.

    Raises:
        UsageError: the folder holds no run, or one with another model, other parameters, data or n.
        Blocked: no server answers at the URL.
    """
    run = run_folder.recorded(folder)
    settings, chosen, server = _prepared(settings)
    problems = chosen.problems
    changed = _changed(run.head.settings, settings) + _another(
        run.head.server, server, settings.model
    )
    if fingerprint(problems) != fingerprint(run.problems) and not changed:
        changed = [msg("the problems themselves (another version of the kit, or of the data set)")]
    refuse_unlike(settings, problems)
    if changed:
        raise UsageError(
            msg(
                "{folder} cannot be continued: {changed} changed since it was started",
                folder=folder,
                changed=joined("; ", changed),
            )
        )
    if settings.url != run.head.settings.url:
        run_folder.move(folder, settings.url)
    answered = {sample.order for sample in run.samples if not sample.error}
    slots = schedule(len(problems), settings.samples, settings.seed)
    return _collect(
        settings, problems, [slot for slot in slots if slot.order not in answered], progress, folder
    )


def _prepared(settings: ProbeSettings) -> tuple[ProbeSettings, Drawn, dict[str, Any]]:
    """The settings with examples, model and fitting max_tokens; the problems; the server's description.

    Raises:
        UsageError: the settings cannot be used.
        Blocked: no server answers at the URL, or it names no model.
    """
    if not settings.url.startswith(("http://", "https://")):
        raise UsageError(msg("{url} is not an http:// URL", url=repr(settings.url)))
    chosen = drawn(settings)
    settings = replace(settings, request=replace(settings.request, examples=chosen.examples))
    server = asyncio.run(describe(settings))
    settings = replace(settings, model=settings.model or str(server["model"]))
    return asyncio.run(_fitted(settings, chosen.problems, server)), chosen, server


def stored_metrics(run: ProbeRun) -> dict[str, JsonValue]:
    """The figures of a run, as stored at its end.

    Raises:
        UsageError: they are missing, or the file is damaged.
    """
    return run_folder.read_metrics(run.folder)


def provenance(run: ProbeRun) -> dict[str, JsonValue]:
    """The problems and parameters of a run: everything needed to repeat it."""
    return {
        "server": str(run.server.get("header", "")),
        "probe": {
            **{
                name: getattr(run.settings, name)
                for name in (*_IDENTITY, "url", "dataset", "concurrency")
            },
            **{name: plain(value) for name in _SOURCE if (value := getattr(run.settings, name))},
            "request": sent(run.settings.request),
            "problems_sha256": fingerprint(run.problems),
            "drawn_from": run.drawn_from,
            "libraries": [
                f"{name} {found.version}"
                for name in _LIBRARIES
                for found in distributions(name=name)
            ],
            "server": {**run.server},
            "seconds": run.seconds,
            "stopped": run.stopped,
        },
    }


def _changed(earlier: ProbeSettings, current: ProbeSettings) -> list[Message]:
    named = [
        msg(
            "{name} ({before}, now {now})",
            name=name,
            before=repr(getattr(earlier, name)),
            now=repr(getattr(current, name)),
        )
        for name in _IDENTITY
        if getattr(earlier, name) != getattr(current, name)
    ]
    differing = differences(earlier.request, current.request)
    return named + [
        msg("{name} ({before}, now {now})", name=name, before=before, now=now)
        for name, before, now in differing
    ]


def _another(before: Mapping[str, Any], now: Mapping[str, Any], model: str) -> list[str]:
    """The signs that another engine, or other weights, would answer the rest of the run."""
    told = {
        msg("the engine's version"): (
            _said(before, model, "version"),
            _said(now, model, "version"),
        ),
        msg("the path of the weights"): (_said(before, model, "root"), _said(now, model, "root")),
    }
    return [
        msg("{name} ({before}, now {now})", name=name, before=repr(was), now=repr(is_))
        for name, (was, is_) in told.items()
        if was and is_ and was != is_
    ]


def _said(server: Mapping[str, Any], model: str, name: str) -> str:
    """A property of the engine or of the model, "" if the server reports none."""
    return str(server.get(name) or server.get("models", {}).get(model, {}).get(name) or "")


async def _fitted(
    settings: ProbeSettings, problems: Sequence[Problem], server: Mapping[str, Any]
) -> ProbeSettings:
    """Lower max_tokens to the context length minus the longest prompt.

    The server is asked for the prompt's length: its template may add a system prompt of thousands of tokens, and
    the tokens of a picture cannot be derived from bytes. If it does not say, each byte counts as a token.
    """
    length = server.get("max_model_len")
    said = {problem.id: text_bytes(problem, settings.request) for problem in problems}
    longest = max(problems, key=lambda problem: (sum(map(len, problem.images)), said[problem.id]))
    guessed = said[longest.id] + _TEMPLATE_TOKENS
    if not isinstance(length, int):
        return settings
    if not longest.images and settings.max_tokens + guessed + _TEMPLATE_MOST_TOKENS <= length:
        return settings
    async with connections(settings) as line:
        measured = await Sampler(settings, problems, _ignore).prompt_tokens(line, longest)
    room = (
        length - int(measured * _MEASURED_SPARE) if measured else max(length - guessed, length // 2)
    )
    return replace(settings, max_tokens=max(min(settings.max_tokens, room), 1))


async def _ignore(_: Sample) -> bool:
    return True


@dataclass(slots=True)
class _Keeper:
    """Passes each sample to the disk, the gate and the progress line, and decides whether more are needed.

    Samples are graded in the order of the journal. An expression can take seconds: a thread grades it while the
    event loop measures the arrival times of other streams. Grading a plain answer is faster than starting a thread.
    Code runs beside the sampling, a few answers at a time, and is counted as it ends.
    """

    journal: Journal
    problems: Sequence[Problem]
    meter: Meter
    verdicts: verdict.Verdicts | None
    full: bool
    decided: bool = False
    cut_first: int = 0
    one_ended: bool = False
    grades: dict[int, Grade] = field(default_factory=dict)
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    places: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(AT_ONCE))
    running: list[asyncio.Task[None]] = field(default_factory=list)

    async def keep(self, sample: Sample) -> bool:
        self.journal.append(sample)
        if self.problems[sample.problem].kind.runs:
            self.running.append(asyncio.create_task(self._run(sample)))
            return not self.enough
        async with self.turn:
            slow = self.problems[sample.problem].kind is AnswerKind.EXPRESSION
            self.take(
                sample,
                await asyncio.to_thread(self._graded, sample) if slow else self._graded(sample),
            )
        return not self.enough

    @property
    def enough(self) -> bool:
        """Whether the samples so far suffice to end the run."""
        return (self.decided or self.never_ends) and not self.full

    @property
    def never_ends(self) -> bool:
        """Whether the first answers were all cut: the others would cost max_tokens each and say the same."""
        return self.cut_first >= MANY_CUT

    async def _run(self, sample: Sample) -> None:
        async with self.places:
            graded = await asyncio.to_thread(self._graded, sample)
        self.take(sample, graded)

    def _graded(self, sample: Sample) -> Grade:
        return grade(self.problems[sample.problem], sample.text, finish_reason=sample.finish_reason)

    def take(self, sample: Sample, graded: Grade) -> None:
        """Count a sample."""
        self.grades[sample.order] = graded
        if not sample.error:
            self.one_ended |= sample.finish_reason != "length"
            self.cut_first += not self.one_ended
        self.meter.take(sample, graded)
        if self.verdicts:
            self.decided = self.verdicts.take(sample, graded)


def _collect(
    settings: ProbeSettings,
    problems: Sequence[Problem],
    slots: Sequence[Slot],
    progress: Progress,
    folder: Path,
) -> ProbeRun:
    before = run_folder.outcome_of(folder)
    began = time.monotonic()
    keeper = _keeper(settings, problems, progress, folder)
    earlier = run_folder.load(folder)
    for sample, graded in zip(earlier.samples, earlier.grades, strict=True):
        if not sample.error:
            keeper.take(sample, graded)
    keeper.meter.start()
    sampler = Sampler(settings, problems, keeper.keep)
    stopped, sent_s = "", 0.0
    ended_by: EndedBy | None = None
    try:
        if not keeper.enough:
            asyncio.run(_send(sampler, settings, keeper, slots))
        sent_s = time.monotonic() - began
        if before.stopped and not (sampler.gave_up or keeper.enough):
            asyncio.run(_ask_alone(settings, problems, folder, progress, before.seconds + sent_s))
        if sampler.gave_up:
            ended_by, stopped = EndedBy.FAILURES, sampler.gave_up
        elif keeper.enough:
            ended_by = EndedBy.CUT if keeper.never_ends else EndedBy.EVIDENCE
            stopped = ended_by.sentence
    except KeyboardInterrupt:
        ended_by = EndedBy.INTERRUPT
        stopped = ended_by.sentence
    finally:
        keeper.journal.close()
        seconds = round(before.seconds + (sent_s or time.monotonic() - began), 3)
        run_folder.write_outcome(
            folder, Outcome(stopped=stopped, ended_by=ended_by, seconds=seconds)
        )
    run = run_folder.load(folder, keeper.grades)
    run_folder.write_grades(run)
    run_folder.write_metrics(run, compute_metrics(run))
    return run


def _keeper(
    settings: ProbeSettings, problems: Sequence[Problem], progress: Progress, folder: Path
) -> _Keeper:
    """Announce what the samples of the run can decide, and create the keeper for them."""
    planned = verdict.plan(settings, problems)
    if planned:
        progress.note(planned.told)
    elif settings.references:
        progress.note(
            msg("these samples cannot tell the reference from half of it: it decides nothing")
        )
    every = (
        settings.full or settings.threshold is not None
    )  # a threshold is judged by the interval of all samples
    return _Keeper(
        journal=Journal(folder / JOURNAL),
        problems=problems,
        meter=Meter(progress, total=len(problems) * settings.samples),
        verdicts=verdict.Verdicts(settings, planned) if planned else None,
        full=every,
    )


async def _send(
    sampler: Sampler, settings: ProbeSettings, keeper: _Keeper, slots: Sequence[Slot]
) -> None:
    async with connections(settings) as server:
        ticking = asyncio.create_task(_tick(sampler, keeper.meter))
        try:
            await sampler.run(server, iter(slots))
            await asyncio.gather(*keeper.running)
        finally:
            ticking.cancel()
            keeper.meter.show(sampler.in_flight)


def _alone(settings: ProbeSettings, problems: Sequence[Problem], folder: Path) -> Sequence[Slot]:
    """What to ask once more, one at a time, to compare answers among many with; less what is on record."""
    if (
        settings.concurrency == 1
        or len(problems) < FEW_PROBLEMS
        or any(problem.kind.runs for problem in problems)
    ):
        return ()
    chosen = Dice("alone", settings.seed).shuffled(range(len(problems)))[:MOST_ALONE]
    first = len(problems) * settings.samples
    slots = [
        Slot(order=first + at, problem=each, repeat=settings.samples)
        for at, each in enumerate(chosen)
    ]
    asked = {sample.order for sample in read(folder / ALONE) if not sample.error}
    return [slot for slot in slots if slot.order not in asked]


async def _ask_alone(
    settings: ProbeSettings,
    problems: Sequence[Problem],
    folder: Path,
    progress: Progress,
    sent_s: float,
) -> None:
    """Ask some problems once more, one at a time; the time it takes is bounded by that of the samples."""
    slots = _alone(settings, problems, folder)
    if not slots:
        return
    progress.note(msg("{count} of the problems once more, one at a time", count=len(slots)))
    journal = Journal(folder / ALONE)

    async def keep(sample: Sample) -> bool:
        journal.append(sample)
        return True

    alone = replace(settings, concurrency=1)
    limit_s = min(max(_SHARE_ALONE * sent_s, _LEAST_ALONE_S), _MOST_ALONE_S)
    try:
        async with connections(alone) as server:
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(
                    Sampler(alone, problems, keep).run(server, iter(slots)), limit_s
                )
    finally:
        journal.close()


async def _tick(sampler: Sampler, meter: Meter) -> None:
    while True:
        meter.show(sampler.in_flight)
        await asyncio.sleep(0.25)
