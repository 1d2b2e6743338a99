"""The checks of a machine in the order in which a person would look, each in a module named after its id.

A correct computation proves more than npu-smi's output, which proves more than a device node. So the checks of
nodes and of npu-smi only warn if every wanted device computed correctly. Checks of a deeper level than the run's
are skipped.
"""

from __future__ import annotations

from healthcheck.core.check import Check
from healthcheck.extensions.runner.checks.affinity import affinity
from healthcheck.extensions.runner.checks.baseline import baseline
from healthcheck.extensions.runner.checks.busy import busy
from healthcheck.extensions.runner.checks.cann import cann
from healthcheck.extensions.runner.checks.compute import compute
from healthcheck.extensions.runner.checks.container import container
from healthcheck.extensions.runner.checks.custom_ops import custom_ops
from healthcheck.extensions.runner.checks.device_nodes import device_nodes
from healthcheck.extensions.runner.checks.disk import disk
from healthcheck.extensions.runner.checks.driver import driver
from healthcheck.extensions.runner.checks.ecc import ecc
from healthcheck.extensions.runner.checks.hccl import hccl
from healthcheck.extensions.runner.checks.hccl_pairs import hccl_pairs
from healthcheck.extensions.runner.checks.health import health
from healthcheck.extensions.runner.checks.host_memory import host_memory
from healthcheck.extensions.runner.checks.links import links
from healthcheck.extensions.runner.checks.memory import memory
from healthcheck.extensions.runner.checks.npu_smi import npu_smi
from healthcheck.extensions.runner.checks.port import port
from healthcheck.extensions.runner.checks.python import python
from healthcheck.extensions.runner.checks.shm import shm
from healthcheck.extensions.runner.checks.soak import soak
from healthcheck.extensions.runner.checks.stack import stack
from healthcheck.extensions.runner.checks.stray_triton import stray_triton
from healthcheck.extensions.runner.checks.supported import supported
from healthcheck.extensions.runner.checks.torch_npu import torch_npu
from healthcheck.extensions.runner.checks.visible_devices import visible_devices
from healthcheck.extensions.runner.records import RunnerFacts

_DEVICES = (device_nodes, npu_smi, health, ecc, links, driver, supported)
_SOFTWARE = (cann, python, stack, stray_triton, torch_npu, custom_ops)
_TRIALS = (compute, memory, busy, hccl, hccl_pairs, soak)
_HOST = (affinity, host_memory, disk, shm, port)
_SURROUNDINGS = (visible_devices, container)
CHECKS: tuple[Check[RunnerFacts], ...] = (
    *_DEVICES,
    *_SOFTWARE,
    *_TRIALS,
    *_HOST,
    *_SURROUNDINGS,
    baseline,
)
