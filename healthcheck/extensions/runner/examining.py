"""`npu-adapter runner`: whether this machine, or this CI runner, can run adapters."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from healthcheck import contract
from healthcheck.ascend import stacks
from healthcheck.cli import output
from healthcheck.cli.outlets import tell
from healthcheck.core.extensions import NONE, Extra
from healthcheck.core.ledger import Ledger
from healthcheck.core.progress import Progress
from healthcheck.core.records import RECORDING, JsonValue, Report
from healthcheck.errors import UsageError
from healthcheck.extensions.runner import snapshot
from healthcheck.extensions.runner.asked import SOAK_MINUTES, Depth
from healthcheck.extensions.runner.checks import CHECKS
from healthcheck.extensions.runner.facts import gather
from healthcheck.extensions.runner.inventory import inventory, soak
from healthcheck.extensions.runner.real import RealWholeMachine
from healthcheck.extensions.runner.recorder import Recorder
from healthcheck.extensions.runner.recording import RecordedMachine, Recording, load
from healthcheck.extensions.runner.records import RunnerFacts, Wanted
from healthcheck.extensions.runner.stage import RUNNER
from healthcheck.extensions.runner.whole_machine import WholeMachine
from healthcheck.system import json_text
from healthcheck.text.messages import joined, msg
from healthcheck.text.redact import redacted, redactor
from healthcheck.verify import provenance

MAX_NPUS = 1024
_OF_THIS_MACHINE = ("system", "cores", "memory_gib", "npu_devices", "machine")
"""The keys of provenance that describe the machine of the kit, which a replay does not judge."""
MAX_SOAK_MINUTES = 7 * 24 * 60


def run(options: argparse.Namespace) -> int:
    """Examine the machine, judge and print; returns 0 if ready, 1 if not ready, 3 if inconclusive."""
    if options.replay:
        return _replay(options)
    wanted = _wanted(options)
    output.refuse_unwritable(options.json, options.junit, options.save, out=options.out)
    output.end_with_a_report()
    machine = RealWholeMachine()
    recorder = Recorder(machine, wanted) if options.save else None
    report = _watched(options, recorder or machine, wanted)
    status = output.publish(options, report, options.out).status
    if recorder:
        _save(recorder, options.save, report)
    return status


def _watched(options: argparse.Namespace, machine: WholeMachine, wanted: Wanted) -> Report:
    """Judge a machine, and show the progress."""
    progress = output.progress(options)
    try:
        return judge(machine, wanted, progress, output.extension_checks(options))
    finally:
        progress.close()


def _save(recorder: Recorder, file: Path, report: Report) -> None:
    """Write the recording, unless the machine did not even answer the first level: nothing could be judged."""
    if report.metrics:
        recorder.save(file)
        said = msg(
            "Recorded in {file}. Read it before you pass it on, then attach it to the issue.",
            file=file,
        )
    else:
        said = msg(
            "Interrupted before the machine had answered: {file} was not written.", file=file
        )
    tell(said)


def _replay(options: argparse.Namespace) -> int:
    """Judge a recording by the expectations and at the level of the recorded run, unless others are given."""
    if options.save or options.soak:
        given = "--save" if options.save else "--soak"
        raise UsageError(
            msg(
                "{option} needs a machine, and --replay judges a recording: write one of them",
                option=given,
            )
        )
    recording = load(options.replay)
    asked = recording.asked
    options.level = options.level or asked.level.value
    options.stack = options.stack or asked.stack
    if options.npus is None and not options.allow_none:
        options.npus, options.allow_none = asked.npus, asked.allow_none
    wanted = replace(_wanted(options), replay=True, soak_s=asked.soak_s or 60.0 * SOAK_MINUTES)
    output.refuse_unwritable(options.json, options.junit, out=options.out)
    output.end_with_a_report()
    report = _watched(options, RecordedMachine(recording), wanted)
    report = replace(
        report, provenance=_replayed(report.provenance, recording, options.replay.name)
    )
    return output.publish(options, report, options.out).status


def _replayed(
    provenance: Mapping[str, JsonValue], recording: Recording, name: str
) -> dict[str, JsonValue]:
    """The provenance with the source of the recording, and without the machine that the kit runs on."""
    kept = {key: value for key, value in provenance.items() if key not in _OF_THIS_MACHINE}
    source: dict[str, JsonValue] = {"file": name, "at": recording.at, "kit": recording.kit}
    return {
        **kept,
        RECORDING: redacted(source, redactor(os.environ)),
        "recorded_machine": provenance.get("machine"),
    }


def judge(machine: WholeMachine, wanted: Wanted, progress: Progress, extra: Extra = NONE) -> Report:
    """The report on a machine, by the kit's own checks and those of extensions.

    Raises:
        UsageError: `wanted.stack` is not a version.
    """
    ledger = Ledger(progress, doubt=stacks.choose(wanted.stack).doubt)
    progress.stage(RUNNER, msg("can this machine run adapters?"))
    about = provenance.kit() | extra.provenance
    checks = (*CHECKS, *extra.of(RUNNER))
    ledger.judge(extra.unusable, lambda: None)
    facts = ledger.judge_or_stop(checks, lambda: gather(machine, wanted, progress))
    if facts is None:
        return ledger.report(_asked(wanted, None), {}, about)
    ledger.stopped = ledger.stopped or facts.stopped
    metrics = _metrics(facts, str(about["at"]))
    seen: dict[str, JsonValue] = {"machine": dict(inventory(facts).facts)}
    return ledger.report(_asked(wanted, facts), metrics, about | seen)


def _asked(wanted: Wanted, facts: RunnerFacts | None) -> str:
    level = msg(", level 1") if wanted.depth is Depth.SECONDS else ""
    replay = msg(", replay of a recording") if wanted.replay else ""
    without = msg(", without NPUs") if facts and not facts.present else ""
    return joined("", (RUNNER.name, replay, level, without))


def _metrics(facts: RunnerFacts, at: str) -> dict[str, JsonValue]:
    """The figures that later runs compare with and that the page draws."""
    found: dict[str, JsonValue] = {snapshot.NAME: json_text.plain(replace(inventory(facts), at=at))}
    if facts.soak and facts.soak.windows:
        found["soak"] = soak(facts.soak)
    return found


def _wanted(options: argparse.Namespace) -> Wanted:
    if options.npus is not None and not 1 <= options.npus <= MAX_NPUS:
        raise UsageError(
            msg(
                "--npus {npus}: a number from 1 to {max_npus}; for none, write --allow-none",
                npus=options.npus,
                max_npus=MAX_NPUS,
            )
        )
    if options.npus and options.allow_none:
        both = msg(
            "--npus says that there are NPUs, --allow-none that there may be none: write one of them"
        )
        raise UsageError(both)
    service = contract.service()
    stack = options.stack or service.release or ""
    stacks.choose(stack)
    return Wanted(
        npus=service.npus if options.npus is None and not options.allow_none else options.npus,
        allow_none=options.allow_none,
        stack=stack,
        depth=_depth(options),
        soak_s=60 * (options.soak or SOAK_MINUTES),
        earlier=snapshot.load(options.baseline) if options.baseline else None,
    )


def _depth(options: argparse.Namespace) -> Depth:
    if options.soak and options.soak > MAX_SOAK_MINUTES:
        raise UsageError(
            msg(
                "--soak {soak:g}: at most {max_soak_minutes} minutes",
                soak=options.soak,
                max_soak_minutes=MAX_SOAK_MINUTES,
            )
        )
    if options.soak and options.level not in {None, Depth.SOAK.value}:
        raise UsageError(
            msg(
                "--soak is for --level {value}, not --level {level}",
                value=Depth.SOAK.value,
                level=options.level,
            )
        )
    chosen = Depth.SOAK if options.soak else Depth.MINUTES
    return Depth(options.level) if options.level else chosen
