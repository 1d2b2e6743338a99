"""npu-adapter runner: can this machine, or this CI runner, run adapters?"""

from __future__ import annotations

import argparse
from dataclasses import replace

from healthcheck import provenance, stacks
from healthcheck.cli import number_types, output
from healthcheck.cli.places import new_place, place
from healthcheck.engine import Ledger
from healthcheck.errors import UsageError
from healthcheck.progress import Progress
from healthcheck.records import Report, Stage, verdict_of
from healthcheck.runner.checks import CHECKS
from healthcheck.runner.facts import gather
from healthcheck.runner.machine import Machine
from healthcheck.runner.real import RealMachine
from healthcheck.runner.recording import RecordedMachine, Recorder, load
from healthcheck.runner.records import Wanted

MAX_NPUS = 1024


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--npus", type=number_types.integer, metavar="N", help="how many NPU devices there must be (default: any)"
    )
    parser.add_argument(
        "--allow-none", action="store_true", help="the machine is meant to have no NPUs: skip their checks"
    )
    parser.add_argument("--stack", default="", metavar="ROW",
                        help="the vllm-ascend release to compare versions with (default: the nearest)")  # fmt: skip
    output.arguments(parser)
    parser.add_argument("--save", type=new_place, metavar="FILE",
                        help="record the machine, without secrets and host names, for --replay")  # fmt: skip
    parser.add_argument("--replay", type=place, metavar="FILE", help="judge a recorded machine instead of this one")


def run(options: argparse.Namespace) -> int:
    """Look, judge, print: 0 ready, 1 not ready, 3 inconclusive."""
    wanted = _wanted(options)
    output.refuse_unwritable(options.json, options.junit, options.save)
    source: Machine = RecordedMachine(load(options.replay)) if options.replay else RealMachine()
    recorder = Recorder(source) if options.save else None
    output.end_with_a_report()
    progress = output.progress(options)
    try:
        report = judge(recorder or source, wanted, progress)
    finally:
        progress.close()
    if options.replay:
        report = replace(report, provenance={**report.provenance, "recorded_machine": options.replay.name})
    status = output.publish(options, report).status
    if recorder and not report.stopped:
        recorder.save(options.save)
    return status


def judge(machine: Machine, wanted: Wanted, progress: Progress) -> Report:
    """The report on a machine.

    Raises:
        UsageError: `wanted.stack` names no row of the version matrix.
    """
    ledger = Ledger(progress)
    progress.stage(Stage.RUNNER, "can this machine run adapters?")
    facts, stopped = None, ""
    try:
        facts = ledger.judge(CHECKS, lambda: gather(machine, wanted, progress))
    except KeyboardInterrupt:
        stopped = "interrupted"
        ledger.skip(CHECKS, stopped)
    there = facts is None or facts.present
    return Report(
        verdict=verdict_of(ledger.results, stopped=stopped),
        results=ledger.results,
        stopped=stopped,
        asked=Stage.RUNNER.value if there else f"{Stage.RUNNER.value}, without NPUs",
        provenance=provenance.kit(),
    )


def _wanted(options: argparse.Namespace) -> Wanted:
    if options.npus is not None and not 1 <= options.npus <= MAX_NPUS:
        raise UsageError(f"--npus {options.npus}: a number from 1 to {MAX_NPUS}; for none, write --allow-none")
    if options.npus and options.allow_none:
        raise UsageError("--npus says that there are NPUs, --allow-none that there may be none: write one of them")
    if options.stack:
        stacks.row(options.stack)
    return Wanted(npus=options.npus, allow_none=options.allow_none, stack=options.stack)
