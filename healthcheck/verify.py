"""Verifies a submission: puts the stages together, in order, each dearer than the one before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from healthcheck import contract, provenance
from healthcheck.endpoint import checks as endpoint_checks
from healthcheck.endpoint.facts import Interview, interview
from healthcheck.engine import Ledger
from healthcheck.fix import Repair, left_alone, proposals
from healthcheck.plan import checks as plan_checks
from healthcheck.plan.facts import LaunchPlan, rehearse
from healthcheck.plan.flags import FLAG_CHECKS
from healthcheck.probe import checks as probe_checks
from healthcheck.probe.facts import INTERRUPTED, measure, metrics
from healthcheck.probe.facts import provenance as parameters
from healthcheck.probe.problems import FAMILY_OF
from healthcheck.probe.records import ProbeRun, ProbeSettings
from healthcheck.progress import Progress
from healthcheck.records import JsonValue, Report, Stage, verdict_of
from healthcheck.repo import checks as repo_checks
from healthcheck.repo.facts import Submission, export, read_submission
from healthcheck.service import checks as service_checks
from healthcheck.service.facts import Service, gather_port
from healthcheck.weights import checks as weights_checks
from healthcheck.weights.check_task import task_of
from healthcheck.weights.facts import WeightsFacts, survey

TITLES = {
    Stage.REPO: "what is committed",
    Stage.PLAN: "what deploy.sh would launch (it runs in a sandbox, against stand-ins)",
    Stage.WEIGHTS: "the weights and the task",
    Stage.SERVICE: "launching deploy.sh",
    Stage.ENDPOINT: "the chat endpoint",
    Stage.PROBE: "a short accuracy measurement",
}
STAGES = tuple(TITLES)
TASKS = {task.value: task for task in contract.Task}


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What is to be verified, and how far.

    Attributes:
        weights: the folder that becomes MODEL_PATH; None only with `url`.
        url: a server that already runs: only the endpoint and the probe are looked at then.
        model: the model name to ask that server for, "" for the first that it lists.
        stack: the row of the version matrix that the service is assumed to have, "" for the repository's own.
        pending: the changes of the working copy are taken in, as `git commit -a` would.
        waived: ids of checks that are not to run; a report names them.
        out: the report folder.
        environment: variables that the launch gets beside those that every launch gets.
        deadline_s: how long a launch may take to answer; the service's own deadline is unknown.
    """

    root: Path
    weights: Path | None
    out: Path
    url: str = ""
    model: str = ""
    task: str = ""
    stack: str = ""
    pending: bool = False
    until: Stage = Stage.PROBE
    waived: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    deadline_s: float = 1800.0
    weight_limit_bytes: int = contract.MAX_WEIGHT_BYTES
    npu: str = ""
    npus: int = 0
    probe: ProbeSettings = field(default_factory=lambda: ProbeSettings(url=""))


class Verification:
    """One run. Its stages fill the ledger, and a report can be made of it at any time, an interrupted one too."""

    def __init__(self, request: Request, progress: Progress) -> None:
        self._request = request
        self._progress = progress
        self._ledger = Ledger(progress, waived=request.waived)
        self._metrics: dict[str, JsonValue] = {}
        self._provenance: dict[str, JsonValue] = provenance.kit()
        self._stopped = ""
        self._clock = provenance.StageClock()
        self.measured: ProbeRun | None = None

    def run(self) -> Report:
        """Run the stages that were asked for; Ctrl-C ends the run with what it has found so far."""
        asked = self._request
        try:
            if asked.weights and not asked.url:
                self._submission(asked.weights)
            else:
                self._talk(asked.url, TASKS.get(asked.task, contract.Task.TEXT_GENERATION))
        except KeyboardInterrupt:
            self._stopped = self._stopped or "interrupted"
        return self._report()

    def repairs(self, weights: Path) -> tuple[Repair, ...]:
        """The safe repairs of the working copy that the repository and the plan call for."""
        submission, plan = self._rehearse(weights)
        return proposals(submission, plan, self._ledger.results)

    def left_alone(self) -> tuple[str, ...]:
        """What repairs() proposes nothing for, in words."""
        return left_alone(self._ledger.results)

    def _submission(self, weights: Path) -> None:
        """A repository and its weights, stage by stage."""
        submission, plan = self._rehearse(weights)
        if not self._wants(Stage.WEIGHTS):
            return
        self._begin(Stage.WEIGHTS)
        facts = self._weights_facts(weights, plan, submission)
        self._ledger.judge(weights_checks.CHECKS, lambda: facts)
        if self._wants(Stage.SERVICE):
            self._live(submission, weights, TASKS.get(task_of(facts)[0], contract.Task.TEXT_GENERATION))

    def _rehearse(self, weights: Path) -> tuple[Submission, LaunchPlan | None]:
        """The stages repo and plan."""
        asked = self._request
        self._begin(Stage.REPO)
        submission = read_submission(asked.root, stack=asked.stack or None, pending=asked.pending)
        self._provenance |= {"repository": str(submission.root), "commit": submission.commit}
        self._ledger.judge(repo_checks.CHECKS, lambda: submission)
        if not self._wants(Stage.PLAN):
            return submission, None
        self._begin(Stage.PLAN)
        checks = (*plan_checks.CHECKS, *FLAG_CHECKS)
        return submission, self._ledger.judge(checks, lambda: rehearse(submission, weights))

    def _weights_facts(self, folder: Path, plan: LaunchPlan | None, submission: Submission) -> WeightsFacts:
        asked = self._request
        weights = survey(folder)
        self._provenance |= {"weights": str(folder), "weights_fingerprint": provenance.fingerprint(weights)}
        return WeightsFacts(
            weights=weights,
            plan=plan,
            submission=submission,
            task=asked.task or None,
            limit_bytes=asked.weight_limit_bytes,
            npu=asked.npu or None,
            npus=asked.npus or None,
        )

    def _live(self, submission: Submission, weights: Path, task: contract.Task) -> None:
        """The stages that need a running server."""
        self._begin(Stage.SERVICE)
        obstacle = self._obstacle()
        if obstacle:
            self._ledger.skip(service_checks.START_CHECKS, obstacle)
            self._skip_talk(obstacle)
            self._ledger.skip(service_checks.END_CHECKS, obstacle)
            return
        with export(submission) as copy:
            self._launch(copy, weights, task)

    def _obstacle(self) -> str:
        """Why there will be no launch, "" where nothing is in the way."""
        failed = self._ledger.failed()
        if failed:
            self._ledger.skip(service_checks.PORT_CHECKS, f"{failed[0].id} failed")
            return f"{failed[0].id} failed: repair that first, a launch would only repeat it"
        self._ledger.judge(service_checks.PORT_CHECKS, gather_port)
        return (
            ""
            if all(result.settled for result in self._ledger.results)
            else "the launch waits until that is settled"
        )

    def _launch(self, copy: Path, weights: Path, task: contract.Task) -> None:
        asked = self._request
        service = Service(
            copy,
            weights,
            log=asked.out / "logs" / "deploy.log",
            progress=self._progress,
            deadline_s=asked.deadline_s,
            environment=asked.environment,
        )
        try:
            with service:
                self._ledger.judge(service_checks.START_CHECKS, lambda: service.launch)
                self._provenance["launch"] = provenance.launch(service.launch)
                self._talk(service.url, task)
                self._clock.begin(Stage.SERVICE)
        except KeyboardInterrupt:
            self._stopped = "interrupted"
            self._skip_talk(self._stopped)
        self._ledger.judge(service_checks.END_CHECKS, service.ended)

    def _talk(self, url: str, task: contract.Task) -> None:
        """The endpoint and the probe, over HTTP."""
        failed = self._ledger.failed()
        if failed:
            self._skip_talk(f"{failed[0].id} failed")
            return
        if self._wants(Stage.ENDPOINT):
            self._begin(Stage.ENDPOINT)
            seen = self._ledger.judge(endpoint_checks.CHECKS, lambda: self._interview(url, task))
            self._provenance["server"] = seen.models.headers.get("server", "") if seen else ""
        if self._wants(Stage.PROBE):
            self._probe(url, task)

    def _interview(self, url: str, task: contract.Task) -> Interview:
        asked = self._request
        weights = str(asked.weights) if asked.weights else None
        return interview(url, model=asked.model or None, weights=weights, task=task, progress=self._progress)

    def _probe(self, url: str, task: contract.Task) -> None:
        failed = self._ledger.failed()
        if failed:
            self._ledger.skip(
                probe_checks.CHECKS, f"{failed[0].id} failed: figures from a faulty endpoint say nothing"
            )
            return
        self._begin(Stage.PROBE)
        asked = self._request.probe
        settings = replace(asked, url=url, family=asked.family or FAMILY_OF[task])
        run = self._ledger.judge(probe_checks.CHECKS, lambda: measure(settings, self._progress, self._request.out))
        if run:
            self.measured = run
            self._metrics |= metrics(run)
            self._provenance["probe"] = parameters(run)["probe"]
            self._stopped = "interrupted" if run.stopped == INTERRUPTED else ""

    def _skip_talk(self, because: str) -> None:
        if self._wants(Stage.ENDPOINT):
            self._ledger.skip(endpoint_checks.CHECKS, because)
        if self._wants(Stage.PROBE):
            self._ledger.skip(probe_checks.CHECKS, because)

    def _begin(self, stage: Stage) -> None:
        self._clock.begin(stage)
        self._progress.stage(stage, TITLES[stage])

    def _wants(self, stage: Stage) -> bool:
        return STAGES.index(stage) <= STAGES.index(self._request.until)

    def _report(self) -> Report:
        results = self._ledger.results
        first = Stage.ENDPOINT if self._request.url else STAGES[0]
        return Report(
            verdict=verdict_of(results, stopped=self._stopped),
            results=results,
            asked=f"{first.value} to {self._request.until.value}",
            metrics=self._metrics,
            provenance={**self._provenance, "stages": self._clock.seconds()},
            stopped=self._stopped,
        )
