"""What deploy.sh would launch, gathered by a dry run."""

from __future__ import annotations

from pathlib import Path

from healthcheck.hardware import Devices
from healthcheck.plan.dry_run import runs
from healthcheck.plan.records import LaunchPlan
from healthcheck.repo.facts import Submission
from healthcheck.sandbox.job import Limits


def gather(
    submission: Submission,
    weights: Path,
    *,
    limits: Limits | None = None,
    consent: bool = False,
    devices: Devices | None = None,
) -> LaunchPlan:
    """Run deploy.sh in a sandbox, under each shell that it may be run by, and with a MODEL_PATH that needs quotes.

    Tell the author beforehand that the script runs. Nothing outside the sandbox is changed.

    Args:
        submission: the committed files.
        weights: the directory that MODEL_PATH names.
        limits: what the dry run may use; the default is enough for ordinary scripts.
        consent: where the system has no sandbox, run the script with all that this user may do.
        devices: the NPUs that the script sees (default: one 910B3), beside the packages of the submission's stack.

    Raises:
        UsageError: the submission or the weights cannot be read.
        Blocked: the system has no sandbox, and there is no consent.
        KitFailure: no sandbox can be started at all.
    """
    return runs.dry_run(submission, weights, limits or Limits(), consent=consent, devices=devices)
