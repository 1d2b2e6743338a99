"""A cluster of Ray: a task for each attempt, with its NPUs, on one node at a time.

Ray transfers the bytes, counts the devices, sets ASCEND_RT_VISIBLE_DEVICES, and ends the workers of a dead driver.
This module decides which free node an attempt gets: port 8000 is fixed, so a node takes one attempt at a time, or
several that have their own networks.
"""

from __future__ import annotations

import socket
import tempfile
import time
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import ray
from ray.exceptions import RayError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

import healthcheck
from healthcheck import __version__
from healthcheck.ascend import hardware
from healthcheck.errors import Blocked, UsageError
from healthcheck.extensions.fleet.board import Board
from healthcheck.extensions.fleet.greeting import missing
from healthcheck.extensions.fleet.jobs import NAME
from healthcheck.extensions.fleet.launch import GRACE_S, Order, launch
from healthcheck.extensions.fleet.machines import Machine, Running, npus_in_words
from healthcheck.extensions.fleet.readback import short
from healthcheck.extensions.fleet.receive import Sent, received, sent
from healthcheck.extensions.fleet.records import Attempt, Ending, Job
from healthcheck.system import files
from healthcheck.text.messages import joined, msg

NPU = "NPU"
CLIENT = "ray://"
KIND_LABEL = "ray.io/accelerator-type"
ANSWER_S = 20.0
GREETING_S = 120.0
LOOK_S = 2.0
WAIT_S = 0.3


_SHIPPED = {"py_modules": [str(Path(healthcheck.__file__).parent)], "excludes": ["__pycache__/"]}
"""The kit as a folder of modules: for a wheel, pip would look for its dependencies."""
_SILENT: dict[str, Any] = {
    "log_to_driver": False,
    "logging_level": "ERROR",
    "configure_logging": False,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Node(Machine):
    """A node of the cluster; `kind` is the label of its NPUs, "" without one."""

    id: str
    npus: int

    def has(self, npus: int, npu: str) -> bool:
        """Whether the node has this many NPUs of a kind, "" for any."""
        return npus <= self.npus and (not npu or same_kind(self.kind, npu))

    def __str__(self) -> str:
        return f"{self.name} ({self.npus} NPU{f' {self.kind}' if self.kind else ''})"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Task:
    order: Order
    node: Node
    npus: int
    place: Path
    began: float
    ref: Any


class Cluster:
    """A running cluster of Ray."""

    def __init__(self, address: str, own_network: bool) -> None:
        """Connect, give every node this kit for the duration of the run, and ask it for what it lacks.

        With a network for each launch, a node takes several at a time.

        Raises:
            UsageError: there is no cluster at the address.
            Blocked: no node can run the kit.
        """
        _refuse_silence(address)
        _connect(address)
        self._own_network = own_network
        self._tasks: dict[str, _Task] = {}
        self._taken: Counter[str] = Counter()
        self._fits: dict[tuple[int, str], Sequence[Node]] = {}
        self._full: set[tuple[int, str]] = set()
        self._looked = 0.0
        self._all = _nodes()
        why_not = _why_not(self._all)
        self.strange = tuple(why for why in why_not.values() if why)
        self._alive = self._all = tuple(node for node, why in why_not.items() if not why)
        if not self._all:
            ray.shutdown()
            raise Blocked(
                msg("no node can run jobs: {strange}", strange=joined("; ", self.strange))
            )
        here = ray.get_runtime_context().get_node_id()
        home = next((node for node in self._all if node.id == here), self._all[0])
        self._board = _BOARD.options(scheduling_strategy=_on(home.id)).remote()

    def machines(self) -> Sequence[Machine]:
        return self._all

    def look(self, machine: Machine, order: Order, place: Path) -> None:
        """Take all NPUs of the machine; waits for those that other tasks use."""
        node = next(node for node in self._all if node.name == machine.name)
        self._submit(node, order, node.npus, place)

    def give_up(self, name: str) -> None:
        ray.cancel(self._tasks[name].ref, recursive=False)
        self._forget(name)

    def leave_out(self, names: Collection[str]) -> None:
        self._all = tuple(node for node in self._all if node.name not in names)
        self._looked = 0.0

    def refusal(self, job: Job) -> str:
        self._look()
        if self._fitting(job):
            return ""
        wanted = npus_in_words(job.npus, job.npu)
        have = ", ".join(map(str, self._alive)) or msg("none is left")
        return msg(
            "no node has {wanted} ({have}; kinds are the label {kind_label})",
            wanted=wanted,
            have=have,
            kind_label=KIND_LABEL,
        )

    def has_room(self, job: Job, avoid: Collection[str]) -> bool:
        return self._free_node(job, avoid) is not None

    def start(self, job: Job, order: Order, place: Path, avoid: Collection[str]) -> None:
        node = self._free_node(job, avoid)
        if node is None:
            raise Blocked(msg("no node is free for {name}", name=job.name))
        self._submit(node, order, job.npus, place)

    def events(self) -> Iterator[Running | Attempt]:
        self._look()
        refs = [task.ref for task in self._tasks.values()]
        ready = ray.wait(refs, timeout=WAIT_S)[0] if refs else []
        alive = {node.id for node in self._alive}
        for name, task in list(self._tasks.items()):
            if task.ref in ready:
                self._forget(name)
                yield _result(task)
            elif task.node.id not in alive:
                self._forget(name)
                yield replace(_lost(task), said=msg("its node is gone"))
        if not self._tasks:
            time.sleep(WAIT_S)
        for name, stage in self._stages().items():
            if name in self._tasks:
                yield Running(job=name, stage=stage)

    def close(self) -> None:
        refs = [task.ref for task in self._tasks.values()]
        for ref in refs:
            ray.cancel(ref, recursive=False)
        if refs:
            ray.wait(refs, num_returns=len(refs), timeout=2 * GRACE_S)
        self._tasks.clear()
        ray.shutdown()

    def _submit(self, node: Node, order: Order, npus: int, place: Path) -> None:
        options: dict[str, Any] = {
            "scheduling_strategy": _on(node.id),
            "name": f"npu-adapter {order.job}",
        }
        if npus:
            options["resources"] = {NPU: npus}
        ref = _ATTEMPT.options(**options).remote(order, self._board)
        self._taken[node.id] += max(npus, 1)
        began = time.monotonic()
        self._tasks[order.job] = _Task(
            order=order, node=node, npus=npus, place=place, began=began, ref=ref
        )

    def _stages(self) -> dict[str, str]:
        """The last stage of each task, by its name."""
        try:
            return dict(ray.get(self._board.stages.remote(), timeout=1))
        except RayError:
            return {}

    def _free_node(self, job: Job, avoid: Collection[str]) -> Node | None:
        """The smallest free node that fits; one of `avoid` only if every fitting node is among them."""
        if (job.npus, job.npu) in self._full:
            return None
        fitting = self._fitting(job)
        free = [node for node in fitting if self._takes(node, job)]
        if not free:
            self._full.add((job.npus, job.npu))
        if any(node.name not in avoid for node in fitting):
            free = [node for node in free if node.name not in avoid]
        return min(free, key=lambda node: (node.npus, node.name), default=None)

    def _fitting(self, job: Job) -> Sequence[Node]:
        """The nodes that can ever run a job; cached for all jobs with the same requirements."""
        wanted = (job.npus, job.npu)
        if wanted not in self._fits:
            self._fits[wanted] = [node for node in self._alive if node.has(*wanted)]
        return self._fits[wanted]

    def _takes(self, node: Node, job: Job) -> bool:
        """Whether a node takes one more attempt now. Ray itself waits for devices that other tasks use."""
        taken = self._taken[node.id]
        if not self._own_network:
            return not taken
        return taken + max(job.npus, 1) <= max(node.npus, 1)

    def _forget(self, name: str) -> None:
        task = self._tasks.pop(name)
        self._taken[task.node.id] -= max(task.npus, 1)
        self._full.clear()

    def _look(self) -> None:
        """Periodically update the list of living nodes. Nodes that join later take no jobs of this run."""
        if time.monotonic() - self._looked > LOOK_S:
            self._looked = time.monotonic()
            there = {node.id for node in _nodes()}
            alive = tuple(node for node in self._all if node.id in there)
            if alive != self._alive:
                self._alive = alive
                self._fits.clear()
                self._full.clear()


def same_kind(label: str, wanted: str) -> bool:
    """Whether a node's label certainly matches the kind of a job: "Ascend910B" may be another 910B."""
    found, asked = hardware.find(label) if label else (), hardware.find(wanted)
    return bool(found) and set(found) <= set(asked)


def _refuse_silence(address: str) -> None:
    """Refuse a HOST:PORT or ray://HOST:PORT that does not listen; Ray would wait for minutes or end the process."""
    host, _, port = address.removeprefix(CLIENT).rpartition(":")
    if "/" in host or not (host and port.isdecimal()):
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=ANSWER_S).close()
    except (OSError, OverflowError) as error:
        local = msg("; the server of a Ray Client may listen at the address of its node only")
        advice = local if address.startswith(CLIENT) else ""
        raise UsageError(
            msg(
                "--on {address}: no cluster answers there: {error}{advice}",
                address=address,
                error=error,
                advice=advice,
            )
        ) from error


def _connect(address: str) -> None:
    try:
        ray.init(address=address, runtime_env=_SHIPPED, **_SILENT)
    except ImportError as error:
        raise UsageError(
            msg(
                "--on {address}: a Ray Client needs pip install 'ray[client]' ({error})",
                address=address,
                error=error,
            )
        ) from error
    except (ConnectionError, RuntimeError, ValueError) as error:
        raise UsageError(f"--on {address}: {short(str(error))}") from error


def _why_not(nodes: Sequence[Node]) -> Mapping[Node, str]:
    """Why each node can take no jobs, or ""."""
    refs = {node: _MISSING.options(scheduling_strategy=_on(node.id)).remote() for node in nodes}
    ray.wait(list(refs.values()), num_returns=len(refs), timeout=GREETING_S)
    return {node: _greeting(node.name, ref) for node, ref in refs.items()}


def _greeting(name: str, ref: Any) -> str:
    try:
        lacking = short(str(ray.get(ref, timeout=0)))
    except (RayError, ImportError) as error:
        last = short(str(error).strip().rpartition("\n")[2] or type(error).__name__)
        return msg(
            "{name} has no npu-adapter-kit {version}: {last}",
            name=name,
            version=__version__,
            last=last,
        )
    return (
        msg(
            "{name} lacks packages that npu-adapter-kit needs: {missing}",
            name=name,
            missing=lacking,
        )
        if lacking
        else ""
    )


def _nodes() -> tuple[Node, ...]:
    found = []
    for each in ray.nodes():
        if each["Alive"]:
            name = str(each.get("NodeName") or each.get("NodeManagerHostname"))
            name = name if NAME.fullmatch(name) else f"node-{each['NodeID'][:12]}"
            kind = str((each.get("Labels") or {}).get(KIND_LABEL, ""))
            npus = int(each["Resources"].get(NPU, 0))
            found.append(Node(id=each["NodeID"], name=name, npus=npus, kind=kind))
    names = [node.name for node in found]
    for place, node in enumerate(found):
        if names.count(node.name) > 1:
            found[place] = replace(node, name=f"{node.name}-{node.id[:6]}")
    return tuple(sorted(found, key=lambda node: node.name))


def _lost(task: _Task) -> Attempt:
    return replace(
        task.order.lost, node=task.node.name, seconds=round(time.monotonic() - task.began, 3)
    )


def _result(task: _Task) -> Attempt:
    """The result of a task; its files are written."""
    lost = _lost(task)
    try:
        message = ray.get(task.ref)
    except UsageError as error:
        return replace(lost, ending=Ending.NO_REPOSITORY, said=short(str(error)))
    except RayError as error:
        return replace(lost, said=short(f"{type(error).__name__}: {error}"))
    if not isinstance(message, Sent):
        return replace(lost, said=msg("the node sent something else than a result"))
    return received(message, lost, task.place)


def _attempt(order: Order, board: Any) -> Sent:
    """Runs in a worker on the node; cancelling the task raises KeyboardInterrupt here, which ends the launch."""
    temporary = Path(tempfile.mkdtemp(prefix=files.prefix()))
    try:
        before = ""
        for said in launch(order, temporary / "attempt"):
            if isinstance(said, Attempt):
                return sent(said, temporary / "attempt")
            if said != before:
                board.say.remote(order.job, said)
                before = said
    finally:
        files.remove_tree(str(temporary))
    raise AssertionError(msg("a launch ends with an attempt"))


_MISSING = ray.remote(num_cpus=0, max_retries=0)(missing)
_ATTEMPT = ray.remote(num_cpus=0, max_retries=0)(_attempt)
_BOARD = ray.remote(num_cpus=0)(Board)


def _on(node_id: str) -> Any:
    """Schedule on this node, or not at all."""
    return NodeAffinitySchedulingStrategy(node_id, soft=False)
