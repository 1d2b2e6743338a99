"""The image and the devices that the stubs show: those of the chosen stack and of the chosen NPUs."""

from __future__ import annotations

from healthcheck import stacks
from healthcheck.hardware import MIB, Devices, Family
from healthcheck.plan.dry_run.stubbed_machine import Image, ShownDevices
from healthcheck.repo import packages
from healthcheck.stacks import Row

_TABLES = {
    Family.A3: "dies", Family.P310: "no-hbm", Family.B310: "no-hbm", Family.I310: "no-hbm", Family.A5: "wide",
}  # fmt: skip
"""Layouts of npu-smi other than that of the 910A and 910B."""


def image_of(stack: str, devices: Devices | None) -> Image:
    """What the stubs show of a row of the version matrix ("" is the default one) and of a machine's devices."""
    row = stacks.row(stack or stacks.DEFAULT)
    return Image(
        versions=stacks.installed(row),
        python_versions=_own_versions(row),
        cuda_only=packages.cuda_only(),
        devices=_shown(devices) if devices else ShownDevices(),
    )


def _own_versions(row: Row) -> dict[str, str]:
    """What `__version__` says where it differs from what pip says: without the local part of the image's build."""
    return {"vllm": row.vllm[0]}


def _shown(devices: Devices) -> ShownDevices:
    kind = devices.kind
    return ShownDevices(
        count=devices.count,
        per_card=kind.per_card,
        name=kind.shown,
        soc=kind.soc,
        memory_mib=kind.memory_bytes // MIB,
        usable_bytes=kind.usable_bytes,
        bfloat16=kind.bfloat16,
        table=_TABLES.get(kind.family, "hbm"),
    )
