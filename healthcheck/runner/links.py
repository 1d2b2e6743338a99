"""Asks hccn_tool about the network port of each NPU: `-link -g` and `-net_health -g`.

The answers are one line, "link status: UP" and "net health status: Success". Source: MindCluster's fault
diagnosis guide (collecting NPU environment files) and vllm-ascend's installation guide.
"""

from __future__ import annotations

from dataclasses import dataclass

from healthcheck.runner.machine import Machine, Output
from healthcheck.text.messages import msg

PLACES = ("/usr/local/Ascend/driver/tools/hccn_tool", "/usr/local/bin/hccn_tool")
MAX_PORTS = 16
UP, WELL, UNCONFIGURED = "UP", "Success", "Init"


@dataclass(frozen=True, slots=True, kw_only=True)
class Port:
    """The network port of a device; a text is "" where hccn_tool gave no such answer."""

    device: int
    link: str = ""
    health: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Links:
    """What hccn_tool said.

    Attributes:
        trouble: why there is no answer at all, "" if there is one.
        ports: one for each device that was asked about.
    """

    trouble: str = ""
    ports: tuple[Port, ...] = ()


def ask(machine: Machine, devices: tuple[int, ...]) -> Links:
    """Ask about each device, by its number in /dev/davinciN."""
    if not devices:
        return Links(trouble=msg("there is no device to ask about"))
    command, first = _tool(machine, devices[0])
    if first.trouble:
        return Links(
            trouble=msg("hccn_tool is not installed here")
            if first.missing
            else msg("hccn_tool: {trouble}", first.trouble)
        )
    ports = tuple(_port(machine, command, device) for device in devices[:MAX_PORTS])
    if not any(port.link or port.health for port in ports):
        return Links(trouble=msg("hccn_tool answers {said}", repr(_said(first))))
    return Links(ports=ports)


def _tool(machine: Machine, device: int) -> tuple[str, Output]:
    """The command for hccn_tool here, and its first answer."""
    output = machine.run("hccn_tool", "-i", str(device), "-link", "-g")
    for place in PLACES if output.missing else ():
        if machine.paths(place):
            return place, machine.run(place, "-i", str(device), "-link", "-g")
    return "hccn_tool", output


def _port(machine: Machine, command: str, device: int) -> Port:
    return Port(
        device=device,
        link=_value(machine.run(command, "-i", str(device), "-link", "-g"), "link status:"),
        health=_value(machine.run(command, "-i", str(device), "-net_health", "-g"), "net health status:"),
    )


def _value(output: Output, name: str) -> str:
    for line in output.text.splitlines():
        if line.strip().startswith(name):
            return line.split(":", 1)[1].strip()[:60]
    return ""


def _said(output: Output) -> str:
    return (output.text.strip() or "nothing").splitlines()[0][:200]
