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

    def share_of(self, weights: Weights) -> Weights:
        """The share of one machine: its layers in a pipeline, its experts with data parallelism."""
        if self.style == DATA_PARALLEL and not weights.experts:
            return weights
        count = len(self.addresses)
        attention = weights.attention
        if attention and self.style != DATA_PARALLEL:
            attention = dataclasses.replace(
                attention,
                layers=-(-attention.layers // count),
                sliding_layers=attention.sliding_layers // count,
                linear_layers=attention.linear_layers // count,
            )
        experts = -(-weights.expert_bytes // count)
        others = weights.total_bytes - weights.expert_bytes
        total = experts + (others if self.style == DATA_PARALLEL else -(-others // count))
        return dataclasses.replace(
            weights, attention=attention, total_bytes=total, expert_bytes=experts
        )

    def copies(self, devices: int, size: int) -> Decision:
        """The copies of the model on one machine with so many devices, each copy on `size` of them."""
        count = max(1, devices // size) if self.style == DATA_PARALLEL else 1
        return Decision("data_parallel_size", count, "copies on this machine", self.source)

    def options(self, copies: int) -> tuple[Decision, ...]:
        """The options of this machine, which has devices for `copies` of the model."""
        count, source = len(self.addresses), self.source
        headless = Decision("headless", True, "the first machine serves", source)
        if self.style != DATA_PARALLEL:
            ranks = (
                Decision("nnodes", count, f"{count} machines", source),
                Decision("node_rank", self.rank, "the place of this machine", source),
                Decision("master_addr", self.addresses[0], "the first machine", source),
                *((headless,) if self.rank else ()),
            )
            return (
                Decision("distributed_executor_backend", self.style, f"{count} machines", source),
                Decision("pipeline_parallel_size", count, "a stage for each machine", source),
                *(ranks if self.style == MP else ()),
            )
        joining = (
            headless,
            Decision(
                "data_parallel_start_rank", self.rank * copies, "the place of this machine", source
            ),
        )
        return (
            Decision(
                "data_parallel_size",
                count * copies,
                "copies on all machines, which share the experts",
                source,
            ),
            Decision("data_parallel_size_local", copies, "copies here", source),
            Decision("data_parallel_address", self.addresses[0], "the first machine", source),
            Decision("data_parallel_rpc_port", RPC_PORT, "free on the first machine", source),
            *(joining if self.rank else ()),
        )

    def commands(self, model_path: str, variables: tuple[Decision, ...]) -> str:
        """The commands to run on each machine, in this order, in the folder of this repository."""
        head = self.addresses[0]
        launch = f"MODEL_PATH={shlex.quote(model_path)} ./deploy.sh"
        lines: list[str] = []
        for rank, address in enumerate(self.addresses):
            lines += [
                f"# on {address}",
                *(_export(name, value) for name, value in self._network(address)),
            ]
            if self.style == RAY:
                place = f"--address={head}:{RAY_PORT}" if rank else f"--head --port={RAY_PORT}"
                lines += [
                    *_before_ray(variables),
                    f"ray start {place} --node-ip-address={address}",
                    "",
                ]
            else:
                lines += [f"ADAPTER_NODE_RANK={rank} {launch}", ""]
        if self.style == RAY:
            lines += [
                f"# on {head}, in the same shell, once `ray status` shows {len(self.addresses)} nodes",
                launch,
            ]
        return "\n".join(lines).strip()

    def _network(self, address: str) -> tuple[tuple[str, str], ...]:
        names = ("GLOO_SOCKET_IFNAME", "TP_SOCKET_IFNAME", "HCCL_SOCKET_IFNAME")
        ray = (
            (("RAY_EXPERIMENTAL_NOSET_ASCEND_RT_VISIBLE_DEVICES", "1"),)
            if self.style == RAY
            else ()
        )
        return (("HCCL_IF_IP", address), *((name, self.interface) for name in names), *ray)


def listed(settings: Mapping[str, Setting], style: Setting) -> Group:
    """The group of machines of the settings, which serve in this style.

    Raises:
        SettingsError: they ask for a group and do not list its machines.
    """
    if style.value not in STYLES:
        raise SettingsError(f"multi_node is {style.value!r}: expected {', '.join(STYLES)}")
    addresses, interface = settings.get("nodes"), settings.get("network_interface")
    if addresses is None or not isinstance(addresses.value, tuple) or len(addresses.value) < 2:
        raise SettingsError(
            "multi_node needs nodes: a list of at least two addresses, the serving one first"
        )
    if interface is None:
        raise SettingsError(
            "multi_node needs network_interface: the name that `ip address` shows, such as eth0"
        )
    rank = settings["node_rank"].value if "node_rank" in settings else 0
    if not isinstance(rank, int) or rank >= len(addresses.value):
        raise SettingsError(
            f"node_rank is {rank}: there are {len(addresses.value)} nodes, counted from 0"
        )
    return Group(str(style.value), addresses.value, str(interface.value), rank, style.source)


def _before_ray(variables: tuple[Decision, ...]) -> tuple[str, ...]:
    """Commands for the variables: workers get those of `ray start`, and vLLM copies few others from deploy.sh."""
    return (SOURCED, *(_export(decision.key, str(decision.value)) for decision in variables))


def _export(name: str, value: str) -> str:
    return f"export {name}={shlex.quote(value)}"
