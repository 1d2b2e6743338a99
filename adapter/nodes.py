"""Several machines, for weights or contexts that outgrow one: a pipeline with or without Ray, or data parallelism.

The evaluation service runs on one machine; this is for your own. adapter.toml enables it:

    multi_node = "ray"                      # or "mp", a pipeline without Ray; or "data-parallel"
    nodes = ["10.0.0.1", "10.0.0.2"]        # the first one serves
    network_interface = "eth0"
"""

from __future__ import annotations

import dataclasses
import shlex
from collections.abc import Mapping
from dataclasses import dataclass

from adapter.decision import Decision
from adapter.settings import Setting, SettingsError
from adapter.weights import Weights

RAY, MP, DATA_PARALLEL = "ray", "mp", "data-parallel"
STYLES = (RAY, MP, DATA_PARALLEL)
KEYS = frozenset({"multi_node", "nodes", "network_interface", "node_rank"})
RAY_PORT, RPC_PORT = 6379, 13389
SOURCED = """\
ascend=${ASCEND_ROOT:-/usr/local/Ascend}
toolkit=$ascend/ascend-toolkit/set_env.sh
[ -r "$toolkit" ] || toolkit=$ascend/cann/set_env.sh
eval "$(python3 -m adapter.sourced "$toolkit")"
eval "$(python3 -m adapter.sourced "$ascend/nnal/atb/set_env.sh")"\
"""
"""Sources CANN's and ATB's scripts, found as deploy.sh finds them."""


@dataclass(frozen=True)
class Group:
    """Machines that serve one model together; `rank` is the index of this machine."""

    style: str
    addresses: tuple[str, ...]
    interface: str
    rank: int
    source: str


def group_of(settings: Mapping[str, Setting]) -> Group | None:
    """The group of machines of the settings.

    Raises:
        SettingsError: they ask for a group and do not list its machines.
    """
    style = settings.get("multi_node")
    if style is None or style.value is None:
        return None
    if style.value not in STYLES:
        raise SettingsError(f"multi_node is {style.value!r}: expected {', '.join(STYLES)}")
    addresses, interface = settings.get("nodes"), settings.get("network_interface")
    if addresses is None or not isinstance(addresses.value, tuple) or len(addresses.value) < 2:
        raise SettingsError("multi_node needs nodes: a list of at least two addresses, the serving one first")
    if interface is None:
        raise SettingsError("multi_node needs network_interface: the name that `ip address` shows, such as eth0")
    rank = settings["node_rank"].value if "node_rank" in settings else 0
    if not isinstance(rank, int) or rank >= len(addresses.value):
        raise SettingsError(f"node_rank is {rank}: there are {len(addresses.value)} nodes, counted from 0")
    return Group(str(style.value), addresses.value, str(interface.value), rank, style.source)


def share_of(weights: Weights, group: Group | None) -> Weights:
    """The share of one machine of the group: its layers in a pipeline, its experts with data parallelism."""
    if group is None or (group.style == DATA_PARALLEL and not weights.experts):
        return weights
    count = len(group.addresses)
    attention = weights.attention
    if attention and group.style != DATA_PARALLEL:
        attention = dataclasses.replace(
            attention,
            layers=-(-attention.layers // count),
            sliding_layers=attention.sliding_layers // count,
            linear_layers=attention.linear_layers // count,
        )
    experts = -(-weights.expert_bytes // count)
    others = weights.total_bytes - weights.expert_bytes
    total = experts + (others if group.style == DATA_PARALLEL else -(-others // count))
    return dataclasses.replace(weights, attention=attention, total_bytes=total, expert_bytes=experts)


def options(group: Group | None, copies: int) -> tuple[Decision, ...]:
    """The options of this machine for the group; it has devices for `copies` of the model."""
    if group is None:
        return ()
    count, source = len(group.addresses), group.source
    headless = Decision("headless", True, "the first machine serves", source)
    if group.style != DATA_PARALLEL:
        ranks = (
            Decision("nnodes", count, f"{count} machines", source),
            Decision("node_rank", group.rank, "the place of this machine", source),
            Decision("master_addr", group.addresses[0], "the first machine", source),
            *((headless,) if group.rank else ()),
        )
        return (
            Decision("distributed_executor_backend", group.style, f"{count} machines", source),
            Decision("pipeline_parallel_size", count, "a stage for each machine", source),
            *(ranks if group.style == MP else ()),
        )
    joining = (
        headless,
        Decision("data_parallel_start_rank", group.rank * copies, "the place of this machine", source),
    )
    return (
        Decision("data_parallel_size", count * copies, "copies on all machines, which share the experts", source),
        Decision("data_parallel_size_local", copies, "copies here", source),
        Decision("data_parallel_address", group.addresses[0], "the first machine", source),
        Decision("data_parallel_rpc_port", RPC_PORT, "free on the first machine", source),
        *(joining if group.rank else ()),
    )


def commands(group: Group, model_path: str, variables: tuple[Decision, ...]) -> str:
    """The commands to run on each machine, in this order, in the folder of this repository."""
    head = group.addresses[0]
    launch = f"MODEL_PATH={shlex.quote(model_path)} ./deploy.sh"
    lines: list[str] = []
    for rank, address in enumerate(group.addresses):
        lines += [f"# on {address}", *(_export(name, value) for name, value in _network(group, address))]
        if group.style == RAY:
            place = f"--address={head}:{RAY_PORT}" if rank else f"--head --port={RAY_PORT}"
            lines += [*_before_ray(variables), f"ray start {place} --node-ip-address={address}", ""]
        else:
            lines += [f"ADAPTER_NODE_RANK={rank} {launch}", ""]
    if group.style == RAY:
        lines += [f"# on {head}, in the same shell, once `ray status` shows {len(group.addresses)} nodes", launch]
    return "\n".join(lines).strip()


def _before_ray(variables: tuple[Decision, ...]) -> tuple[str, ...]:
    """Commands for the variables: workers get those of `ray start`, and vLLM copies few others from deploy.sh."""
    return (SOURCED, *(_export(decision.key, str(decision.value)) for decision in variables))


def _export(name: str, value: str) -> str:
    return f"export {name}={shlex.quote(value)}"


def _network(group: Group, address: str) -> tuple[tuple[str, str], ...]:
    names = ("GLOO_SOCKET_IFNAME", "TP_SOCKET_IFNAME", "HCCL_SOCKET_IFNAME")
    ray = (("RAY_EXPERIMENTAL_NOSET_ASCEND_RT_VISIBLE_DEVICES", "1"),) if group.style == RAY else ()
    return (("HCCL_IF_IP", address), *((name, group.interface) for name in names), *ray)
