"""Verifies a submission: runs the stages in order of cost."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from healthcheck import contract
from healthcheck.ascend import hardware, stacks
from healthcheck.ascend.hardware import Devices
from healthcheck.core.progress import Progress
from healthcheck.core.records import Report
from healthcheck.core.stages import Stage
from healthcheck.machine.devices import devices_here
from healthcheck.machine.real import RealMachine
from healthcheck.stages.plan import checks as plan_checks
from healthcheck.stages.plan import facts as plan_facts
from healthcheck.stages.plan.records import LaunchPlan
from healthcheck.stages.probe.records import ProbeRun
from healthcheck.stages.repo import checks as repo_checks
from healthcheck.stages.repo.facts import read_submission
from healthcheck.stages.repo.records import Submission
from healthcheck.text.messages import msg
from healthcheck.verify import ran
from healthcheck.verify.run import TASKS, Request, Run

UNCOMMITTED = msg("the repair is not committed")


class Verification:
    """One verification, of a repository and its weights or of a running server."""

    def __init__(self, request: Request, progress: Progress) -> None:
        self._request = request
        self._run = Run(request, progress)
        self._changed: tuple[str, ...] = ()

    @property
    def measured(self) -> ProbeRun | None:
        """The probe's samples, None if there was no probe."""
        return self._run.measured

    def run(self) -> Report:
        """Run the requested stages; Ctrl-C ends the run and keeps its results."""
        asked = self._request
        try:
            if not asked.url:
                self._submission(asked.weights or Path())
            else:
                from healthcheck.verify import with_server  # noqa: PLC0415 - the HTTP clients take longer than the static stages

                with_server.talk(
                    self._run, asked.url, TASKS.get(asked.task, contract.Task.TEXT_GENERATION)
                )
        except KeyboardInterrupt:
            self._run.stopped = self._run.stopped or msg("interrupted")
        self._run.stopped = self._run.stopped or asked.ends_early
        report = self._run.report()
        if not self._changed:
            return report
        from healthcheck.verify import working_copy  # noqa: PLC0415 - most runs are about a clean working copy

        return working_copy.with_remarks(
            report, self._run.ledger, asked.root, self._changed, self._run.redact
        )

    def _submission(self, weights: Path) -> None:
        """Verify a repository and its weights, stage by stage."""
        submission, plan = self._dry_run(weights)
        because = self._request.ends_early
        if not (because or self._run.wants(Stage.WEIGHTS)):
            return
        from healthcheck.verify import weighing  # noqa: PLC0415 - the dry run begins sooner without it

        if because:
            weighing.leave_open(self._run, because)
            return
        task = weighing.weigh(self._run, submission, weights, plan)
        if self._run.wants(Stage.SERVICE):
            from healthcheck.verify import with_server  # noqa: PLC0415 - see run()

            with_server.launch(self._run, submission, weights, task)

    def _dry_run(self, weights: Path) -> tuple[Submission, LaunchPlan | None]:
        """Run the stages repo and plan."""
        asked, ledger = self._request, self._run.ledger
        self._run.begin(Stage.REPO)
        submission = read_submission(
            asked.root, stack=asked.stack or None, pending=asked.pending, staged=asked.staged
        )
        if not asked.own_settings:
            submission = replace(submission, unread_settings=())
        self._run.provenance |= {"repository": str(submission.root), "commit": submission.commit}
        self._run.provenance["version_matrix"] = stacks.age()
        self._run.uncommitted = UNCOMMITTED if submission.pending else ""
        self._changed = () if submission.pending else submission.changed
        ledger.judge(self._run.checks(Stage.REPO, repo_checks.CHECKS), lambda: submission)
        if not self._run.wants(Stage.PLAN):
            return submission, None
        self._run.begin(Stage.PLAN)
        consent = asked.unconfined or self._run.wants(Stage.SERVICE)
        plan = ledger.judge(
            self._run.checks(Stage.PLAN, plan_checks.CHECKS),
            lambda: plan_facts.gather(
                submission, weights, consent=consent, devices=self._devices()
            ),
        )
        ledger.judge(plan_checks.SUMMARIES, lambda: ledger.results)
        self._run.provenance["sandbox"] = plan.observed.mode.value if plan else "none"
        if plan and plan.server:
            self._run.provenance["server_command"] = ran.server(plan.server)
            catalogued = plan.server.engine.is_catalogued
            self._run.server_options = plan.server.options if catalogued else {}
            if catalogued and not self._run.wants(Stage.SERVICE):
                self._run.note_unchecked_options(submission.stack)
        return submission, plan

    def _devices(self) -> Devices | None:
        """The devices that deploy.sh sees: the requested ones, else those of this machine, if it has any."""
        asked = self._request
        if asked.npu or asked.npus:
            return hardware.named_devices(asked.npu, asked.npus)
        return devices_here(RealMachine())
