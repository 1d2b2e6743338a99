"""The engine: gathers the facts of a stage once, runs its checks over them, keeps the results."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from healthcheck.core.check import Check, broke
from healthcheck.core.progress import Progress
from healthcheck.core.records import (
    CheckResult,
    Edit,
    Finding,
    JsonValue,
    Outcome,
    Report,
    verdict_of,
)
from healthcheck.core.stages import Stage
from healthcheck.errors import Blocked, UsageError
from healthcheck.text.messages import msg
from healthcheck.text.redact import Redact, redacted, redactor, with_hidden_values

Facts = TypeVar("Facts")


@dataclass(frozen=True, slots=True, kw_only=True)
class Obstacle:
    """Why checks cannot run, and the id of the check that is the cause."""

    because: str
    check: str


class Ledger:
    """The results of a run so far. It only grows, and its findings contain no secrets.

    `waived` has the ids of checks that must not run, each with who asked for that and why. `doubt` says why the row
    of the version matrix may be the wrong one (stacks.Choice), "" if it is certain. `redact` removes secrets from
    everything that enters a report; by default, those of this process's environment and those of a known shape.
    """

    def __init__(
        self,
        progress: Progress,
        *,
        waived: Mapping[str, str] | None = None,
        redact: Redact | None = None,
        doubt: str = "",
    ) -> None:
        self._progress = progress
        self._redact = redact or redactor(os.environ)
        self._doubt = doubt
        self._waived = dict(waived or {})
        self._results: dict[str, CheckResult] = {}
        self._edits: dict[str, tuple[tuple[Edit, ...], ...]] = {}
        self.stopped = ""

    @property
    def results(self) -> tuple[CheckResult, ...]:
        return tuple(self._results.values())

    def result(self, id: str) -> CheckResult:  # noqa: A002 - the word of the report
        """The result of a check that has already one."""
        return self._results[id]

    def edits(self, id: str) -> tuple[tuple[Edit, ...], ...]:  # noqa: A002 - the word of the report
        """The edits of each finding of a check, in the order of the findings, to apply and not to show.

        Those of the results have no secrets, so that an edit that removes one does not fit the file.
        """
        return self._edits.get(id, ())

    def settle(self, stage: Stage, because: str) -> None:
        """Turn the unsettled results of a stage into warnings once a later stage has settled them."""
        for result in self._results.values():
            if result.stage == stage and not result.settled and result.outcome is Outcome.SKIP:
                settled = replace(result, outcome=Outcome.WARN, settled=True, because=because)
                self._results[result.id] = settled

    def failed(self) -> tuple[CheckResult, ...]:
        """The checks that failed so far. If there are any, a later stage would only repeat them."""
        return tuple(result for result in self._results.values() if result.outcome is Outcome.FAIL)

    def judge(self, checks: Sequence[Check[Facts]], gather: Callable[[], Facts]) -> Facts | None:
        """Gather the facts, run the checks over them in order, and return the facts.

        A check whose prerequisite failed, was skipped or broke is skipped and names it; if that leaves no check to
        run, the facts are not gathered. If gathering fails, the checks are unsettled after a Blocked and the kit's
        own errors otherwise. In both cases None is returned.

        Raises:
            UsageError: the facts cannot be gathered from the user's input.
        """
        if all(self._skipped(check) for check in checks):
            self.skip(checks)
            return None
        try:
            facts = gather()
        except UsageError:
            raise
        except Exception as error:  # noqa: BLE001 - the report must say what broke, and the run go on
            self._without_facts(checks, error)
            return None
        for check in checks:
            skipped = self._skipped(check)
            self._record(skipped or check.judge(facts, self._doubt))
        return facts

    def judge_or_stop(
        self, checks: Sequence[Check[Facts]], gather: Callable[[], Facts]
    ) -> Facts | None:
        """As `judge`, but Ctrl-C skips the checks, and `stopped` then says so."""
        try:
            return self.judge(checks, gather)
        except KeyboardInterrupt:
            self.stopped = msg("interrupted")
            self.skip(checks, self.stopped)
            return None

    def report(
        self, asked: str, metrics: Mapping[str, JsonValue], provenance: Mapping[str, JsonValue]
    ) -> Report:
        """The report on these results. Here, and where a result is recorded, secrets are removed from it."""
        return Report(
            verdict=verdict_of(self.results, stopped=self.stopped),
            results=self.results,
            stopped=self._redact(self.stopped),
            asked=self._redact(asked),
            metrics=redacted(metrics, self._redact),
            provenance=redacted(provenance, self._redact),
        )

    def skip(
        self, checks: Sequence[Check[Facts]], because: str = "", *, blocked_by: str = ""
    ) -> None:
        """Skip the checks that have no result yet, because of a failed prerequisite or else for this reason."""
        for check in checks:
            if check.id not in self._results:
                skip = replace(_skip(check, because), blocked_by=blocked_by)
                self._record(self._skipped(check) or skip)

    def leave_open(self, check: Check[Facts], because: str) -> None:
        """Record that a check could not be judged for this reason, which makes the verdict inconclusive.

        A check that must not run is skipped instead.
        """
        self._record(self._skipped(check) or replace(_skip(check, because), settled=False))

    def add(self, results: Iterable[CheckResult]) -> None:
        """Take results of checks that another ledger judged."""
        for result in results:
            self._record(result)

    def _without_facts(self, checks: Sequence[Check[Facts]], error: Exception) -> None:
        outcome = Outcome.SKIP if isinstance(error, Blocked) else Outcome.ERROR
        for check in checks:
            unjudged = replace(check.result(outcome, because=broke(error)), settled=False)
            self._record(self._skipped(check) or unjudged)

    def _record(self, result: CheckResult) -> None:
        shown = redacted(result, self._redact)
        if shown != result:
            findings = tuple(map(self._with_hidden_values, shown.findings, result.findings))
            shown = replace(shown, findings=findings)
        self._results[result.id] = shown
        self._edits[result.id] = tuple(finding.edits for finding in result.findings)
        self._progress.result(shown)

    def _with_hidden_values(self, shown: Finding, finding: Finding) -> Finding:
        """The redacted finding, whose repair does not look as if a secret's mask were the text of a file."""
        if not finding.edits or shown.fix == finding.fix:
            return shown
        return replace(shown, fix=with_hidden_values(finding.fix, self._redact))

    def _skipped(self, check: Check[Facts]) -> CheckResult | None:
        """The result of a check that must not run, None if it may run."""
        if check.id in self._waived:
            reason = msg("skipped on request ({source})", source=self._waived[check.id])
            return replace(_skip(check, reason), waived=True)
        for needed in check.requires:
            result = self._results.get(needed)
            if result is not None and not result.waived:
                obstacle = _obstacle(result)
                if obstacle:
                    return replace(_skip(check, obstacle.because), blocked_by=obstacle.check)
        return None


def _skip(check: Check[Facts], because: str) -> CheckResult:
    return check.result(Outcome.SKIP, because=because)


def _obstacle(needed: CheckResult) -> Obstacle | None:
    """What keeps a check that needs this result from running; None if it can run."""
    if needed.outcome is Outcome.FAIL:
        return Obstacle(because=msg("{check} failed", check=needed.id), check=needed.id)
    if needed.blocked_by:
        return Obstacle(because=needed.because, check=needed.blocked_by)
    if needed.outcome in {Outcome.SKIP, Outcome.ERROR}:
        return Obstacle(because=msg("{check} has no result", check=needed.id), check=needed.id)
    return None
