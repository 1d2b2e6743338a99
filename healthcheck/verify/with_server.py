"""The stages that need a running server: service, endpoint, numerics, features, probe."""

from __future__ import annotations

import socket
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from healthcheck.contract import Task
from healthcheck.core.check import Check
from healthcheck.core.ledger import Ledger, Obstacle
from healthcheck.core.progress import Silent
from healthcheck.core.records import Outcome
from healthcheck.core.stages import Stage
from healthcheck.errors import Blocked, reason_of
from healthcheck.machine.real import RealMachine
from healthcheck.machine.versions import versions
from healthcheck.stages.endpoint import checks as endpoint_checks
from healthcheck.stages.endpoint.facts import Interview, interview
from healthcheck.stages.endpoint.interrupted import settled
from healthcheck.stages.endpoint.records import Notes
from healthcheck.stages.probe import checks as probe_checks
from healthcheck.stages.probe.facts import measure, stored_metrics
from healthcheck.stages.probe.facts import provenance as parameters
from healthcheck.stages.probe.problems import FAMILY_OF
from healthcheck.stages.probe.records import EndedBy
from healthcheck.stages.repo.export import export
from healthcheck.stages.repo.records import Submission
from healthcheck.stages.service import checks as service_checks
from healthcheck.stages.service.facts import Service, gather_port
from healthcheck.stages.service.watch import Patience
from healthcheck.text.messages import msg
from healthcheck.verify import provenance
from healthcheck.verify.run import DEPLOY_LOG, Measurement, Run


def launch(run: Run, submission: Submission, weights: Path, task: Task) -> None:
    """Launch a clean export of the submission, run the stages against it, and end it."""
    run.begin(Stage.SERVICE)
    obstacle = _obstacle(run)
    if obstacle:
        starts = run.checks(Stage.SERVICE, service_checks.START_CHECKS)
        run.ledger.skip(starts, obstacle.because, blocked_by=obstacle.check)
        _skip_talk(run, obstacle.because, blocked_by=obstacle.check)
        run.ledger.skip(service_checks.END_CHECKS, obstacle.because, blocked_by=obstacle.check)
        return
    with export(submission) as copy:
        _launch(run, copy, weights, task)


def talk(run: Run, url: str, task: Task) -> None:
    """Run the endpoint and probe stages against a server, over HTTP."""
    if failed := _failed(run):
        _skip_talk(run, msg("{id} failed", id=failed), blocked_by=failed)
        return
    if run.wants(Stage.ENDPOINT):
        run.begin(Stage.ENDPOINT)
        _judge_endpoint(run, url, task)
    asked = run.request.measurements
    for measurement in (each for each in asked if not each.stage.reaches(Stage.PROBE)):
        _measure(run, url, measurement)
    if run.wants(Stage.PROBE):
        _probe(run, url, task)
    for measurement in (each for each in asked if each.stage.reaches(Stage.PROBE)):
        if not run.stopped:
            measurement.judge(run, url)


def _judge_endpoint(run: Run, url: str, task: Task) -> None:
    """Interview the server and judge the answers.

    Raises:
        KeyboardInterrupt: after the checks that the answers so far settle were judged.
    """
    checks = run.checks(Stage.ENDPOINT, endpoint_checks.CHECKS)
    notes = Notes()
    seen: Interview | None = None
    try:
        seen = run.ledger.judge(checks, lambda: _interview(run, url, task, notes))
    except KeyboardInterrupt:
        seen = notes.facts
        if seen is not None:
            _keep_settled(run, seen, notes)
        _skip_talk(run, msg("interrupted"))
        raise
    finally:
        run.provenance["server"] = seen.models.headers.get("server", "") if seen else ""


def _keep_settled(run: Run, facts: Interview, notes: Notes) -> None:
    """Judge the facts of an interrupted interview, and keep the results that its rest could not have changed."""
    so_far = Ledger(Silent(), waived=run.request.waived)
    so_far.judge(endpoint_checks.CHECKS, lambda: facts)
    run.ledger.add(settled(so_far.results, notes))


def _failed(run: Run) -> str:
    """The first failed check so far, "" for none."""
    return next((result.id for result in run.ledger.failed()), "")


def _obstacle(run: Run) -> Obstacle | None:
    """What prevents the launch; None if nothing does."""
    if failed := _failed(run):
        run.ledger.skip(
            service_checks.PORT_CHECKS, msg("{id} failed", id=failed), blocked_by=failed
        )
        because = msg("{id} failed: repair that first, a launch would only repeat it", id=failed)
        return Obstacle(because=because, check=failed)
    run.ledger.judge(service_checks.PORT_CHECKS, gather_port)
    open_ports = [
        check.id for check in service_checks.PORT_CHECKS if not run.ledger.result(check.id).settled
    ]
    if not open_ports:
        return None
    because = msg(
        "{open_ports} could not be settled, and the launch waits for it", open_ports=open_ports[0]
    )
    return Obstacle(because=because, check=open_ports[0])


def _launch(run: Run, copy: Path, weights: Path, task: Task) -> None:
    asked = run.request
    service = Service(
        copy,
        weights,
        log=asked.out / DEPLOY_LOG,
        progress=run.progress,
        patience=Patience() if asked.deadline_s is None else Patience(deadline_s=asked.deadline_s),
        environment=asked.environment,
    )
    try:
        with service:
            run.ledger.judge(
                run.checks(Stage.SERVICE, service_checks.START_CHECKS), lambda: service.launch
            )
            if run.ledger.result("service/starts").outcome in {Outcome.PASS, Outcome.WARN}:
                run.ledger.settle(Stage.PLAN, msg("the real launch answered here"))
            run.provenance["launch"] = provenance.launch(service.launch)
            run.provenance["versions"] = versions(RealMachine())
            if run.ledger.result("service/starts").settled:
                talk(run, service.url, task)
            else:
                starts = "service/starts"
                _skip_talk(run, msg("{check} has no result", check=starts), blocked_by=starts)
            run.resume(Stage.SERVICE)
    except KeyboardInterrupt:
        run.stopped = msg("interrupted")
        run.ledger.skip(run.checks(Stage.SERVICE, service_checks.START_CHECKS), run.stopped)
        _skip_talk(run, run.stopped)
    run.ledger.judge(service_checks.END_CHECKS, service.ended)


def _interview(run: Run, url: str, task: Task, notes: Notes) -> Interview:
    asked = run.request
    if asked.url:
        reach(asked.url)
    weights = str(asked.weights) if asked.weights else None
    return interview(
        url,
        model=asked.model or None,
        weights=weights,
        task=task,
        progress=run.progress,
        notes=notes,
    )


def reach(url: str) -> None:
    """Connect once: without a server there is nothing to judge, and that is not the server's failure.

    Raises:
        Blocked: no connection can be made.
    """
    parts = urlsplit(url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    try:
        socket.create_connection((parts.hostname or "", port), timeout=10).close()
    except OSError as error:
        raise Blocked(
            msg(
                "no server answers at {url} ({reason}): start it first",
                url=url,
                reason=reason_of(error),
            )
        ) from error


def _probe(run: Run, url: str, task: Task) -> None:
    checks = run.checks(Stage.PROBE, probe_checks.CHECKS)
    if failed := _failed(run):
        because = msg("{id} failed: figures from a faulty endpoint say nothing", id=failed)
        run.ledger.skip(checks, because, blocked_by=failed)
        return
    run.begin(Stage.PROBE)
    asked = run.request.probe
    settings = replace(
        asked, url=url, family=asked.family or FAMILY_OF[task], parameters=run.parameters
    )
    probed = run.ledger.judge(checks, lambda: measure(settings, run.progress, run.request.out))
    if probed:
        run.measured = probed
        run.metrics |= stored_metrics(probed)
        run.provenance["probe"] = parameters(probed)["probe"]
        run.stopped = msg("interrupted") if probed.ended_by is EndedBy.INTERRUPT else ""


def _measure(run: Run, url: str, measurement: Measurement) -> None:
    if failed := _failed(run):
        run.ledger.skip(measurement.checks, msg("{id} failed", id=failed), blocked_by=failed)
        return
    run.begin(measurement.stage)
    measurement.judge(run, url)


def _skip_talk(run: Run, because: str, *, blocked_by: str = "") -> None:
    """Skip the stages that talk to the server."""
    skipped: list[Check[Any]] = []
    if run.wants(Stage.ENDPOINT):
        skipped += run.checks(Stage.ENDPOINT, endpoint_checks.CHECKS)
    for measurement in run.request.measurements:
        skipped += measurement.checks
    if run.wants(Stage.PROBE):
        skipped += run.checks(Stage.PROBE, probe_checks.CHECKS)
    run.ledger.skip(skipped, because, blocked_by=blocked_by)
