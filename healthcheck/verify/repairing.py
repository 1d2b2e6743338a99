"""A verification for `--fix`: runs up to the plan stage and proposes repairs for its findings."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from healthcheck.verify.fix import Repair, already_made, left_alone, proposals, repairable
from healthcheck.verify.verification import Verification


class Repairing(Verification):
    def repairs(self, weights: Path) -> tuple[Repair, ...]:
        """The safe repairs of the working copy for the findings of the stages repo and plan."""
        submission, plan = self._dry_run(weights)
        return proposals(submission, plan, self._run.ledger.results)

    def left_alone(self, made: tuple[str, ...] = ()) -> tuple[str, ...]:
        """The findings without a repair, in words; `made` are the checks that are repaired."""
        open_ = (result for result in self._run.ledger.results if result.id not in made)
        return left_alone(open_, self._changed)

    def already_made(self, weights: Path) -> tuple[str, ...]:
        """The checks that the uncommitted changes of the working copy repair; call `repairs` first."""
        if not self._changed or not repairable(self._run.ledger.results):
            return ()
        copy = Repairing(replace(self._request, pending=True), self._run.progress)
        copy.repairs(weights)
        return already_made(self._run.ledger.results, copy._run.ledger.results)
