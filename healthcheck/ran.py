"""What runs, for whoever compares two runs: the server as it was recorded, versions, devices. "unknown" is said."""

from __future__ import annotations

import re
from collections.abc import Mapping

from healthcheck.plan.commands import without_key
from healthcheck.plan.records import ServerCommand
from healthcheck.records import JsonValue
from healthcheck.runner import installed, npu_smi, probes
from healthcheck.runner.machine import Child, Machine
from healthcheck.runner.memory import smi_info
from healthcheck.runner.npu_smi import SmiError

UNKNOWN = "unknown"
PACKAGES = ("vllm", "vllm_ascend", "torch", "torch_npu", "transformers")
MOST_CHARACTERS = 2000
_CONCERNS = re.compile(
    r"(?:VLLM|ASCEND|HCCL|NPU|PYTORCH|TORCH|ACL|ATB|CANN|OMP|HF|TRANSFORMERS|TASK_QUEUE|CPU_AFFINITY|LD)_"
)
_SECRET = re.compile(r"TOKEN|KEY|SECRET|PASSWORD|CREDENTIAL|AUTH", re.IGNORECASE)


def server(recorded: ServerCommand) -> dict[str, JsonValue]:
    """The arguments and the variables with which deploy.sh starts the server, keys apart."""
    variables = {name: value for name, value in sorted(recorded.env.items()) if _CONCERNS.match(name)}
    return {
        "engine": recorded.engine,
        "arguments": list[JsonValue](without_key(recorded.argv)),
        "started_by": recorded.where or UNKNOWN,
        "environment": {name: _shown(name, value) for name, value in variables.items()},
    }


def _shown(name: str, value: str) -> str:
    return "***" if _SECRET.search(name) else value[:MOST_CHARACTERS]


def versions(machine: Machine) -> dict[str, JsonValue]:
    """What is installed where the server ran, and its devices."""
    software = probes.software(machine.python(Child.VERSIONS))
    cann = installed.cann(machine)
    found: dict[str, JsonValue] = {name: software.packages.get(name) or UNKNOWN for name in PACKAGES}
    found["python"] = software.python or UNKNOWN
    found["cann"] = (cann.toolkits[0].version if cann.toolkits else "") or UNKNOWN
    found["driver"] = installed.driver(machine).version or UNKNOWN
    found["devices"] = _devices(machine)
    return found


def _devices(machine: Machine) -> str:
    _, output = smi_info(machine, expected=bool(machine.paths("/dev/davinci[0-9]*")))
    try:
        kinds = [chip.kind for chip in npu_smi.parse(output.text).chips]
    except SmiError:
        return UNKNOWN
    counted: Mapping[str, int] = {kind: kinds.count(kind) for kind in dict.fromkeys(kinds)}
    return ", ".join(f"{number} × {kind}" for kind, number in counted.items()) or UNKNOWN
