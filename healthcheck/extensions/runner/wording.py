"""Words for several checks."""

from __future__ import annotations

from healthcheck.core.check import NotApplicable
from healthcheck.extensions.runner.asked import Depth
from healthcheck.extensions.runner.records import RunnerFacts
from healthcheck.machine.interface import Entry
from healthcheck.machine.npu_smi import Chip
from healthcheck.text.messages import joined, msg

GB = 10**9
READY_S = 600
"""vLLM's VLLM_ENGINE_READY_TIMEOUT_S: an engine that is not ready by then is abandoned."""
HOT_C = 85.0
"""An inference: Huawei's documents give no limit; a public guide to operating these servers sets its alarm here."""
RUN_FLAGS = msg(
    "--device /dev/davinci0 (each card) --device /dev/davinci_manager --device /dev/devmm_svm "
    "--device /dev/hisi_hdc -v /usr/local/dcmi:/usr/local/dcmi -v /usr/local/bin/npu-smi:/usr/local/bin/npu-smi "
    "-v /usr/local/Ascend/driver/lib64/:/usr/local/Ascend/driver/lib64/ "
    "-v /usr/local/Ascend/driver/version.info:/usr/local/Ascend/driver/version.info "
    "-v /etc/ascend_install.info:/etc/ascend_install.info"
)
"""Source: vllm-ascend's installation guide, at 182b75ea84ff."""
NOT_TRIED = msg("this is a replay: no device is tried, and the recording does not have this trial")
RUNTIME_LOG = msg("look the code up in the log of the runtime (~/ascend/log)")
IMAGE = msg("use the image quay.io/ascend/vllm-ascend of that release")


def needs_npu(facts: RunnerFacts) -> None:
    """Skip checks of NPUs on a machine without one.

    Raises:
        NotApplicable: there is no NPU.
    """
    if not facts.present:
        raise NotApplicable(msg("there is no NPU on this machine"))


def needs_depth(facts: RunnerFacts, depth: Depth) -> None:
    """Skip checks that need a deeper level.

    Raises:
        NotApplicable: the level was not reached.
    """
    if facts.reached < depth and facts.wanted.replay:
        raise NotApplicable(facts.stopped or NOT_TRIED)
    if facts.reached < depth:
        raise NotApplicable(
            facts.stopped or msg("this is tried at --level {value}", value=depth.value)
        )


def npus(number: int) -> str:
    """A number of NPUs: "1 NPU", "2 NPUs"."""
    return f"{number} NPU{'s' if number != 1 else ''}"


def chip_name(chip: Chip) -> str:
    """The name of a chip, by npu-smi's numbers."""
    return msg("NPU {npu} chip {chip}", npu=chip.npu, chip=chip.chip)


def opening(node: Entry) -> str:
    """The repair of a device node that is closed to this user."""
    group = node.group or "HwHiAiUser"
    return msg(
        "as root: usermod -a -G {group} USER, then log in again; or run as root", group=group
    )


def listed(items: list[str], most: int = 8) -> str:
    """The first items, and the number of further ones."""
    rest = msg(" and {items} more", items=len(items) - most) if len(items) > most else ""
    return joined(", ", items[:most]) + rest
