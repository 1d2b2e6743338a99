"""Judges a simulated endpoint in process."""

from __future__ import annotations

from healthcheck.contract import Task
from healthcheck.core.ledger import Ledger
from healthcheck.core.progress import Silent
from healthcheck.core.records import CheckResult, Outcome
from healthcheck.extensions.simulator import Behaviour, Simulator
from healthcheck.stages.endpoint.checks import CHECKS
from healthcheck.stages.endpoint.facts import interview
from healthcheck.wire.client import Limits

PATIENT = Limits(first_event_s=60, between_events_s=60, total_s=120)


def judged(behaviour: Behaviour, task: Task = Task.TEXT_GENERATION) -> dict[str, CheckResult]:
    """Every check of the endpoint stage on a simulated endpoint: id → result."""
    with Simulator(behaviour) as simulator:
        ledger = Ledger(Silent())
        ledger.judge(
            CHECKS,
            lambda: interview(simulator.url, weights=behaviour.model, task=task, limits=PATIENT),
        )
    return {result.id: result for result in ledger.results}


def objections(results: dict[str, CheckResult]) -> dict[str, str]:
    """The results that neither passed nor were skipped, with their findings."""
    kept = {name: r for name, r in results.items() if r.outcome not in {Outcome.PASS, Outcome.SKIP}}
    return {
        name: f"{result.outcome}: {'; '.join(str(f.seen) for f in result.findings)}"
        for name, result in kept.items()
    }
