"""The checks of a machine in the order in which a person would look, each in a module that is named after its id.

A correct computation proves more than npu-smi's output, and that more than a device node. So the checks of nodes
and of npu-smi only warn if every wanted device computed correctly.
"""

from __future__ import annotations

from healthcheck.check import Check
from healthcheck.runner.checks.busy import busy
from healthcheck.runner.checks.cann import cann
from healthcheck.runner.checks.compute import compute
from healthcheck.runner.checks.container import container
from healthcheck.runner.checks.device_nodes import device_nodes
from healthcheck.runner.checks.disk import disk
from healthcheck.runner.checks.driver import driver
from healthcheck.runner.checks.hccl import hccl
from healthcheck.runner.checks.health import health
from healthcheck.runner.checks.memory import memory
from healthcheck.runner.checks.npu_smi import npu_smi
from healthcheck.runner.checks.open_files import open_files
from healthcheck.runner.checks.port import port
from healthcheck.runner.checks.proxy import proxy
from healthcheck.runner.checks.python import python
from healthcheck.runner.checks.shm import shm
from healthcheck.runner.checks.stack import stack
from healthcheck.runner.checks.supported import supported
from healthcheck.runner.checks.torch_npu import torch_npu
from healthcheck.runner.checks.visible_devices import visible_devices
from healthcheck.runner.records import RunnerFacts

CHECKS: tuple[Check[RunnerFacts], ...] = (
    device_nodes,
    npu_smi,
    health,
    driver,
    supported,
    cann,
    python,
    stack,
    torch_npu,
    compute,
    memory,
    busy,
    hccl,
    disk,
    shm,
    port,
    open_files,
    visible_devices,
    proxy,
    container,
)
