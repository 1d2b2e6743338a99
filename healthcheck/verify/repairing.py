"""A verification for `--fix`: runs up to the weights stage and proposes the repairs of its findings."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from healthcheck.core.stages import Stage
from healthcheck.verify import weighing
from healthcheck.verify.fix import (
    Proposal,
    already_made,
    files,
    left_alone,
    propose,
    repairable,
    repairs,
)
from healthcheck.verify.verification import Verification


class Repairing(Verification):
    def proposal(self, weights: Path) -> Proposal:
        """The repairs of the working copy for the findings of the stages repo, plan and weights."""
        submission, plan = self._dry_run(weights)
        if self._run.wants(Stage.WEIGHTS) and not self._request.ends_early:
            weighing.weigh(self._run, submission, weights, plan)
        wanted = repairs(self._run.ledger)
        return propose(wanted, files(submission, wanted))

    def left_alone(self, made: tuple[str, ...] = ()) -> tuple[str, ...]:
        """The findings without a repair, in words; `made` are the checks that are repaired."""
        open_ = (result for result in self._run.ledger.results if result.id not in made)
        return left_alone(open_, self._changed)

    def already_made(self, weights: Path) -> tuple[str, ...]:
        """The checks that the uncommitted changes of the working copy repair; call `proposal` first."""
        if not self._changed or not repairable(self._run.ledger.results):
            return ()
        copy = Repairing(replace(self._request, pending=True), self._run.progress)
        copy.proposal(weights)
        return already_made(self._run.ledger.results, copy._run.ledger.results)
