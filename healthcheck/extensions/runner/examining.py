"""`npu-adapter runner`: whether this machine, or this CI runner, can run adapters."""

from __future__ import annotations

import argparse
from dataclasses import replace

from healthcheck import contract
from healthcheck.ascend import stacks
from healthcheck.cli import output
from healthcheck.core.extensions import NONE, Extra
from healthcheck.core.ledger import Ledger
from healthcheck.core.progress import Progress
from healthcheck.core.records import JsonValue, Report, Stage, verdict_of
from healthcheck.errors import UsageError
from healthcheck.extensions.runner import snapshot
from healthcheck.extensions.runner.asked import SOAK_MINUTES, Depth
from healthcheck.extensions.runner.checks import CHECKS
from healthcheck.extensions.runner.facts import gather
from healthcheck.extensions.runner.inventory import inventory, soak
from healthcheck.extensions.runner.real import RealWholeMachine
from healthcheck.extensions.runner.records import RunnerFacts, Wanted
from healthcheck.extensions.runner.whole_machine import WholeMachine
from healthcheck.system import json_text
from healthcheck.text.messages import msg
from healthcheck.verify import provenance

MAX_NPUS = 1024
MAX_SOAK_MINUTES = 7 * 24 * 60


def run(options: argparse.Namespace) -> int:
    """Examine the machine, judge and print; returns 0 if ready, 1 if not ready, 3 if inconclusive."""
    wanted = _wanted(options)
    output.refuse_unwritable(options.json, options.junit, out=options.out)
    output.end_with_a_report()
    progress = output.progress(options)
    try:
        report = judge(RealWholeMachine(), wanted, progress, output.extension_checks(options))
    finally:
        progress.close()
    return output.publish(options, report, options.out).status


def judge(machine: WholeMachine, wanted: Wanted, progress: Progress, extra: Extra = NONE) -> Report:
    """The report on a machine, by the kit's own checks and those of extensions.

    Raises:
        UsageError: `wanted.stack` is not a version.
    """
    ledger = Ledger(progress, doubt=stacks.choose(wanted.stack).doubt)
    progress.stage(Stage.RUNNER, msg("can this machine run adapters?"))
    facts, stopped, about = None, "", provenance.kit() | extra.provenance
    checks = (*CHECKS, *extra.of(Stage.RUNNER))
    ledger.judge(extra.unusable, lambda: None)
    try:
        facts = ledger.judge(checks, lambda: gather(machine, wanted, progress))
    except KeyboardInterrupt:
        stopped = msg("interrupted")
        ledger.skip(checks, stopped)
    stopped = stopped or (facts.stopped if facts else "")
    return Report(
        verdict=verdict_of(ledger.results, stopped=stopped),
        results=ledger.results,
        stopped=stopped,
        asked=_asked(wanted, facts),
        metrics=_metrics(facts, str(about["at"])) if facts else {},
        provenance={**about, **({"machine": dict(inventory(facts).facts)} if facts else {})},
    )


def _asked(wanted: Wanted, facts: RunnerFacts | None) -> str:
    level = msg(", level 1") if wanted.depth is Depth.SECONDS else ""
    without = msg(", without NPUs") if facts and not facts.present else ""
    return msg("{value}{level}{value2}", Stage.RUNNER.value, level, without)


def _metrics(facts: RunnerFacts, at: str) -> dict[str, JsonValue]:
    """The figures that later runs compare with and that the page draws."""
    found: dict[str, JsonValue] = {snapshot.NAME: json_text.plain(replace(inventory(facts), at=at))}
    if facts.soak and facts.soak.windows:
        found["soak"] = soak(facts.soak)
    return found


def _wanted(options: argparse.Namespace) -> Wanted:
    if options.npus is not None and not 1 <= options.npus <= MAX_NPUS:
        given = options.npus, MAX_NPUS
        raise UsageError("--npus {npus}: a number from 1 to {max_npus}; for none, write --allow-none", *given)
    if options.npus and options.allow_none:
        both = msg("--npus says that there are NPUs, --allow-none that there may be none: write one of them")
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
        raise UsageError(msg("--soak {soak:g}: at most {max_soak_minutes} minutes", options.soak, MAX_SOAK_MINUTES))
    if options.soak and options.level not in {None, Depth.SOAK.value}:
        raise UsageError(msg("--soak is for --level {value}, not --level {level}", Depth.SOAK.value, options.level))
    chosen = Depth.SOAK if options.soak else Depth.MINUTES
    return Depth(options.level) if options.level else chosen
