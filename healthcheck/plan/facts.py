"""What deploy.sh would launch, gathered by a dry run."""

from __future__ import annotations

from pathlib import Path

from healthcheck.errors import UsageError
from healthcheck.hardware import Devices
from healthcheck.messages import msg
from healthcheck.plan.dry_run.image import image_of
from healthcheck.plan.dry_run.runs import DryRun
from healthcheck.plan.records import LaunchPlan
from healthcheck.repo.facts import Submission, export
from healthcheck.sandbox import box
from healthcheck.sandbox.box import Box
from healthcheck.sandbox.job import Limits


def gather(
    submission: Submission,
    weights: Path,
    *,
    limits: Limits | None = None,
    consent: bool = False,
    devices: Devices | None = None,
    sandbox: Box | None = None,
) -> LaunchPlan:
    """Run deploy.sh in a sandbox, under each shell that it may be run by, and with a MODEL_PATH that needs quotes.

    Tell the author beforehand that the script runs. Nothing outside the sandbox is changed.

    Args:
        submission: the committed files.
        weights: the directory that MODEL_PATH names.
        limits: what the dry run may use; the default is enough for ordinary scripts.
        consent: where the system has no sandbox, run the script with all that this user may do.
        devices: the NPUs that the script sees (default: one 910B3), beside the packages of the submission's stack.
        sandbox: what the script is run in, else the strictest that there is.

    Raises:
        UsageError: the submission or the weights cannot be read.
        Blocked: the system has no sandbox, and there is no consent.
        KitFailure: no sandbox can be started at all.
    """
    weights = weights.expanduser().resolve()
    if not weights.is_dir():
        raise UsageError(msg("{weights} is not a folder of weights", weights))
    sandbox = sandbox or box.chosen(consent=consent)
    with export(submission) as tree:
        run = DryRun(
            tree=tree,
            weights=weights,
            text=(submission.deploy_sh or b"").decode("utf-8", "replace"),
            limits=limits or Limits(),
            box=sandbox,
            image=image_of(submission.stack, devices),
        )
        return run.plan(submission)
