"""Gathers what deploy.sh would launch, by a dry run."""

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
from healthcheck.stages.plan import image
from healthcheck.stages.plan.dry_run.runs import DryRun
from healthcheck.stages.plan.dry_run.stubs import programs
from healthcheck.stages.plan.records import LaunchPlan
from healthcheck.stages.repo import packages
from healthcheck.stages.repo.export import export
from healthcheck.stages.repo.installs import entries
from healthcheck.stages.repo.records import Submission
from healthcheck.text.messages import msg

_TABLES = {
    Family.A3: "dies", Family.P310: "no-hbm", Family.B310: "no-hbm", Family.I310: "no-hbm", Family.A5: "wide",
}  # fmt: skip
"""Layouts of npu-smi other than "hbm", which the 910A and 910B have."""


def gather(
    submission: Submission,
    weights: Path,
    *,
    limits: Limits | None = None,
    consent: bool = False,
    devices: Devices | None = None,
    sandbox: Box | None = None,
) -> LaunchPlan:
    """Run deploy.sh in a sandbox, under each shell that may run it, and with a MODEL_PATH that needs quotes.

    Tell the author beforehand that the script runs. Nothing outside the sandbox is changed.

    Args:
        submission: the committed files.
        weights: the folder for MODEL_PATH.
        limits: limits of the dry run; the default is enough for ordinary scripts.
        consent: run the script unconfined if the system has no sandbox.
        devices: the NPUs that the script sees (default: one 910B3), with the packages of the submission's stack.
        sandbox: the sandbox to use, else the strictest one available.

    Raises:
        UsageError: the submission or the weights cannot be read.
        Blocked: the system has no sandbox, and there is no consent.
        KitFailure: no sandbox can be started at all.
    """
    weights = weights.expanduser().resolve()
    if not weights.is_dir():
        raise UsageError(msg("{weights} is not a folder of weights", weights=weights))
    sandbox = sandbox or box.chosen(consent=consent)
    with export(submission) as tree:
        text = (submission.deploy_sh or b"").decode("utf-8", "replace")
        shown = _shown(submission, text, devices or named_devices("", 1))
        run = DryRun(
            tree=tree,
            weights=weights,
            text=text,
            limits=limits or Limits(),
            box=sandbox,
            shown=shown,
        )
        return run.plan(submission)


def _shown(submission: Submission, script: str, devices: Devices) -> Mapping[str, object]:
    """The row of the version matrix, the programs and the devices that the stubs show, as JSON.

    `versions` are by package; `dependencies` are other packages of the image; `python_versions` by module, where
    `__version__` differs from the package's;
    `cuda_only` are packages that need CUDA, with their modules; `port` is the port of a server without a known one;
    `lacks` are programs that do not exist before the script installs them, `required_programs` those of packages in
    requirements.txt.
    Of the devices, `per_card` is their number on a card, `name` the one that npu-smi prints, `soc` and
    `usable_bytes` those of torch_npu, `table` the layout of npu-smi.
    """
    row, kind = stacks.row(submission.stack or stacks.DEFAULT), devices.kind
    required = {
        name for entry in entries(submission) if entry.name for name in _programs_of(entry.name)
    }
    return {
        "lacks": sorted(image.lacking(script, row.cann or "") - required),
        "required_programs": sorted(required),
        "versions": stacks.installed(row),
        "dependencies": sorted(stacks.dependencies(row)),
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


def _programs_of(package: str) -> tuple[str, ...]:
    return programs.of_package(package, programs.OF_PYTHON)
