"""Queries hccn_tool for the network port of each NPU: `-link -g` and `-net_health -g`.

The answers are one line, "link status: UP" and "net health status: Success". Source: MindCluster's fault
diagnosis guide (collecting NPU environment files) and vllm-ascend's installation guide.
"""

from __future__ import annotations

from dataclasses import dataclass

from healthcheck.machine.interface import Machine, called
from healthcheck.machine.npu_smi import value_after
from healthcheck.text.messages import msg

PLACES = ("/usr/local/Ascend/driver/tools/hccn_tool", "/usr/local/bin/hccn_tool")
MAX_PORTS = 16
UP, WELL, UNCONFIGURED = "UP", "Success", "Init"


@dataclass(frozen=True, slots=True, kw_only=True)
class Port:
    """The network port of a device; a text is "" if hccn_tool gave no such answer."""

    device: int
    link: str = ""
    health: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Links:
    """The output of hccn_tool.

    Attributes:
        trouble: why there is no answer at all, or "".
        ports: one for each device.
    """

    trouble: str = ""
    ports: tuple[Port, ...] = ()


def query(machine: Machine, devices: tuple[int, ...]) -> Links:
    """Query each device, by its number in /dev/davinciN."""
    if not devices:
        return Links(trouble=msg("there is no device node whose port could be queried"))
    command, first = called(machine, "hccn_tool", PLACES, "-i", str(devices[0]), "-link", "-g")
    if first.missing:
        return Links(trouble=msg("hccn_tool is not installed here"))
    if first.trouble:
        return Links(trouble=msg("hccn_tool: {trouble}", trouble=first.trouble))
    ports = tuple(_port(machine, command, device) for device in devices[:MAX_PORTS])
    if not any(port.link or port.health for port in ports):
        answer = (first.text.strip() or "nothing").splitlines()[0][:200]
        return Links(trouble=msg("hccn_tool answers {answer}", answer=repr(answer)))
    return Links(ports=ports)


def _port(machine: Machine, command: str, device: int) -> Port:
    link = machine.run(command, "-i", str(device), "-link", "-g")
    health = machine.run(command, "-i", str(device), "-net_health", "-g")
    return Port(
        device=device,
        link=value_after(link.text, "link status:")[:60],
        health=value_after(health.text, "net health status:")[:60],
    )
