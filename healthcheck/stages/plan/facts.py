"""What deploy.sh would launch, gathered by a dry run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from healthcheck import contract
from healthcheck.ascend import stacks
from healthcheck.ascend.hardware import MIB, Devices, Family, named_devices
from healthcheck.errors import UsageError
from healthcheck.sandbox import box
from healthcheck.sandbox.box import Box
from healthcheck.sandbox.job import Limits
from healthcheck.stages.plan.dry_run.runs import DryRun
from healthcheck.stages.plan.records import LaunchPlan
from healthcheck.stages.repo import packages
from healthcheck.stages.repo.facts import Submission, export
from healthcheck.text.messages import msg

_TABLES = {
    Family.A3: "dies", Family.P310: "no-hbm", Family.B310: "no-hbm", Family.I310: "no-hbm", Family.A5: "wide",
}  # fmt: skip
"""Layouts of npu-smi other than "hbm", that of the 910A and 910B."""


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
            shown=_shown(submission.stack, devices or named_devices("", 1)),
        )
        return run.plan(submission)


def _shown(stack: str, devices: Devices) -> Mapping[str, object]:
    """What the stubs show of a row of the version matrix ("" is the default one) and of devices, as JSON.

    `versions` are as pip names the packages, `python_versions` by module, where `__version__` differs from that;
    `cuda_only` are packages that need CUDA, with their modules; `port` is where a server may listen that does not
    say its own. Of the devices, `per_card` is how many a card has, `name` as npu-smi prints it, `soc` and
    `usable_bytes` as torch_npu does, `table` the layout of npu-smi.
    """
    row, kind = stacks.row(stack or stacks.DEFAULT), devices.kind
    return {
        "versions": stacks.installed(row),
        "python_versions": {"vllm": row.vllm[0]},
        "cuda_only": packages.cuda_only(),
        "port": contract.PORT,
        "devices": {
            "count": devices.count,
            "per_card": kind.per_card,
            "name": kind.shown,
            "soc": kind.soc,
            "memory_mib": kind.memory_bytes // MIB,
            "usable_bytes": kind.usable_bytes,
            "bfloat16": kind.bfloat16,
            "table": _TABLES.get(kind.family, "hbm"),
        },
    }
