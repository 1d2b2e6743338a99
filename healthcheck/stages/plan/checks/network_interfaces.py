"""plan/network-interfaces: no variable has an interface or an address of one machine."""

from __future__ import annotations

import enum
import math
import re
import socket
from collections.abc import Iterator
from dataclasses import dataclass

from healthcheck.core.check import Findings, NotApplicable, check, fail, note, warn
from healthcheck.core.records import Finding
from healthcheck.engines.base import EVERYWHERE, LOOPBACK
from healthcheck.sandbox.protocol import ADDRESS, HOST_NAME
from healthcheck.stages.plan.commands import NAME_CHARACTERS
from healthcheck.stages.plan.records import LaunchPlan, ServerCommand
from healthcheck.stages.plan.script import deploy_sh
from healthcheck.stages.plan.servers.options import UNRESOLVED
from healthcheck.stages.plan.servers.served import STARTED, line_of
from healthcheck.text.messages import joined, msg

_LOOPBACK_INTERFACE = "lo"
_OF_CONTAINERS = re.compile(r"eth\d{0,2}")
"""The interfaces of Docker's bridge network, which the service's container may have."""
_FAMILY = re.compile(r"[a-z]{1,6}")
"""The beginning of the names of many machines, such as en: HCCL compares beginnings."""
_ANY = {EVERYWHERE, "::", "localhost", "::1", HOST_NAME, ADDRESS}
_PROCESSES = ("tensor", "pipeline", "data", "prefill-context")


class Use(enum.Enum):
    """When vLLM needs the value of a variable on one machine."""

    ALWAYS = "always"
    FOR_ONE_NPU = "for-one-npu"
    FOR_SEVERAL_NPUS = "for-several-npus"
    NEVER = "never"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Setting:
    """A variable with an interface or an address.

    Attributes:
        use: when vLLM needs it.
        interface: it has the name of an interface, not an address.
        many: several names may be given, with commas between them.
        patterns: names are beginnings of names, unless `=` is before them; `^` excludes.
        result: what happens on a machine that does not have it.
    """

    use: Use
    result: str
    interface: bool = False
    many: bool = False
    patterns: bool = False

    @property
    def good(self) -> str:
        return _LOOPBACK_INTERFACE if self.interface else LOOPBACK


_UNUSED = msg("vLLM does not use it on one machine")
_WAITS = msg("vLLM waits for its own process at that address, and gives up")
_REFUSED_BY_HCCL = msg("HCCL ends with EI0001 on a machine without it")
_SETTINGS = {
    "GLOO_SOCKET_IFNAME": _Setting(
        use=Use.ALWAYS,
        result=msg("gloo ends with “Unable to find address for” on a machine without it"),
        interface=True,
        many=True,
    ),
    "HCCL_SOCKET_IFNAME": _Setting(
        use=Use.FOR_SEVERAL_NPUS,
        result=_REFUSED_BY_HCCL,
        interface=True,
        many=True,
        patterns=True,
    ),
    "HCCL_IF_IP": _Setting(use=Use.FOR_SEVERAL_NPUS, result=_REFUSED_BY_HCCL),
    "VLLM_HOST_IP": _Setting(use=Use.FOR_ONE_NPU, result=_WAITS),
    "VLLM_LOOPBACK_IP": _Setting(use=Use.FOR_SEVERAL_NPUS, result=_WAITS),
    "TP_SOCKET_IFNAME": _Setting(use=Use.NEVER, result=_UNUSED, interface=True),
    "NCCL_SOCKET_IFNAME": _Setting(
        use=Use.NEVER,
        result=_UNUSED,
        interface=True,
        many=True,
        patterns=True,
    ),
    "MASTER_ADDR": _Setting(use=Use.NEVER, result=_UNUSED),
    "VLLM_DP_MASTER_IP": _Setting(use=Use.NEVER, result=_UNUSED),
}
"""Sources:

- gloo: transport/tcp/device.cc; observed with torch 2.13.0. GroupCoordinator in
  vllm/distributed/parallel_state.py makes a group of gloo even for one NPU.
- HCCL: FindLocalHostIp in bootstrap_ip.cc, which compares with the interfaces of the machine.
- vLLM: get_ip and get_loopback_ip of utils/network_utils.py, the address of the first process in
  the executors uniproc (one NPU) and multiproc (several). The wait was observed with torch 2.13.0.
- TensorPipe and NCCL are not used on NPUs. data_parallel_master_ip of vllm/config/parallel.py is
  set by an option if there are several copies.
"""


@check(
    "plan/network-interfaces",
    msg("No network interface or address of one machine is set"),
    why=msg("The service's machine has interfaces and addresses of its own, not those of yours."),
    requires=STARTED,
)
def network_interfaces(plan: LaunchPlan) -> Findings:
    """Recipes for several machines set GLOO_SOCKET_IFNAME, HCCL_IF_IP and others to an interface or
    an address of the author's machine. On the service's machine, the start fails:

    - GLOO_SOCKET_IFNAME: vLLM makes a group of gloo for its processes, even for one NPU.
    - HCCL_SOCKET_IFNAME, HCCL_IF_IP, VLLM_LOOPBACK_IP: with several NPUs. With one, they warn.
    - VLLM_HOST_IP: with one NPU. With several, it warns.

    An interface that the service's container may have (eth0) warns, and so does everything for an
    engine other than vLLM. TP_SOCKET_IFNAME, NCCL_SOCKET_IFNAME, MASTER_ADDR and VLLM_DP_MASTER_IP
    have no effect on one machine: the report only mentions them.

    The loopback (lo, 127.0.0.1) and values that deploy.sh looks up when it runs (`hostname -I`,
    `ip route`) pass.

    Example:
    ```sh
    export GLOO_SOCKET_IFNAME=enp23s0f3
    exec vllm serve "$MODEL_PATH"
    ```

    Use instead:

    ```sh
    export GLOO_SOCKET_IFNAME=lo
    exec vllm serve "$MODEL_PATH"
    ```
    """
    server = plan.server
    if server is None:
        raise NotApplicable(msg("deploy.sh starts no server"))
    by_value: dict[str, list[str]] = {}
    for name, setting in _SETTINGS.items():
        value = server.env.get(name, "").strip()
        if _foreign(plan, setting, value):
            by_value.setdefault(value, []).append(name)
    for value, names in by_value.items():
        yield _finding(plan, server, value, names)


def _finding(plan: LaunchPlan, server: ServerCommand, value: str, names: list[str]) -> Finding:
    """One finding for all variables with this value, about the one that matters most."""
    name = min(names, key=lambda each: _rank(server, _SETTINGS[each], value))
    others = [each for each in names if each != name]
    setting = _SETTINGS[name]
    seen = msg(
        "{variable}={value}: {result}",
        variable=name,
        value=value[:NAME_CHARACTERS],
        result=setting.result,
    )
    if others:
        seen += msg("; the same value in {variables}", variables=joined(", ", others))
    where = line_of(plan, f"{name}=", name)
    rank = _rank(server, setting, value)
    if rank is _Rank.NOTE:
        return note(seen, where=where)
    lines = " ".join(f"{each}={_SETTINGS[each].good}" for each in (name, *others))
    kind = msg("the name of an interface") if setting.interface else msg("an address")
    expected = msg(
        "no {variable}, or {kind} that every machine has: {value}",
        variable=name,
        kind=kind,
        value=setting.good,
    )
    fix = msg("write export {assignments}", assignments=lines)
    say = fail if rank is _Rank.FAIL else warn
    return say(expected=expected, seen=seen, fix=fix, where=where)


class _Rank(enum.IntEnum):
    """How certain it is that the start fails, the most certain first."""

    FAIL = 0
    WARN = 1
    NOTE = 2


def _rank(server: ServerCommand, setting: _Setting, value: str) -> _Rank:
    if setting.use is Use.NEVER:
        return _Rank.NOTE
    processes = _processes(server)
    one = processes == 1 and not server.option("distributed-executor-backend")
    certain = {
        Use.ALWAYS: True,
        Use.FOR_ONE_NPU: one,
        Use.FOR_SEVERAL_NPUS: processes is not None and processes > 1,
    }[setting.use]
    plausible = setting.interface and _may_exist(setting, value)
    needed = certain and server.engine.serving.needs_interfaces
    return _Rank.FAIL if needed and not plausible else _Rank.WARN


def _processes(server: ServerCommand) -> int | None:
    """How many NPUs vLLM uses; None if an option's value is not known."""
    given = [server.option(f"{name}-parallel-size") or "1" for name in _PROCESSES]
    if not all(each.isdecimal() and len(each) < 6 for each in given):
        return None
    return math.prod(map(int, given))


def _foreign(plan: LaunchPlan, setting: _Setting, value: str) -> bool:
    """Whether a value belongs to one particular machine, and was not looked up by the script."""
    if not value or UNRESOLVED in value or (setting.patterns and value.startswith("^")):
        return False
    names = list(_names(setting, value))
    if not setting.interface:
        return not _is_of_every_machine(value) and not _is_found_out(plan, value)
    others = (name for name in names if name != _LOOPBACK_INTERFACE)
    foreign = [name for name in others if not _is_found_out(plan, name)]
    return len(foreign) == len(names) if setting.patterns else bool(foreign)


def _names(setting: _Setting, value: str) -> Iterator[str]:
    text = value.removeprefix("=") if setting.patterns else value
    yield from (text.split(",") if setting.many else (text,))


def _may_exist(setting: _Setting, value: str) -> bool:
    """Whether the service's machine may have the interfaces: one of a pattern's, else each."""
    names = [name for name in _names(setting, value) if name != _LOOPBACK_INTERFACE]
    if not setting.patterns:
        return all(map(_OF_CONTAINERS.fullmatch, names))
    families = () if value.startswith("=") else names
    return any(map(_OF_CONTAINERS.fullmatch, names)) or any(map(_FAMILY.fullmatch, families))


def _is_of_every_machine(address: str) -> bool:
    return address.lower() in _ANY or address.startswith("127.")


def _is_found_out(plan: LaunchPlan, value: str) -> bool:
    """Whether the script looked the value up: its text lacks it, and the machine has it."""
    word = re.compile(rf"(?<![\w.]){re.escape(value)}(?![\w.])")
    texts = (plan.script, *(file.text for file in plan.sourced))
    if any(word.search(line) for text in texts for _, line in deploy_sh.code_lines(text)):
        return False
    interfaces = {"eth0"}
    if not plan.observed.isolated:
        interfaces |= {name for _, name in socket.if_nameindex()} | {socket.gethostname()}
    return value in interfaces
