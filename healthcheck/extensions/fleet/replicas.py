"""Servers of one adapter on nodes of a cluster of Ray, one per node, for the duration of a probe.

A server is reached at the address of its node in Ray. `serving` launches it, in a task that has its NPUs; the end
of the task, of its worker or of this process ends the server.
"""

from __future__ import annotations

import contextlib
import socket
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import ray
from ray.exceptions import RayError

from healthcheck import contract
from healthcheck.core.progress import Progress
from healthcheck.errors import Blocked, UsageError
from healthcheck.extensions.fleet.launch import GRACE_S
from healthcheck.extensions.fleet.machines import npus_in_words
from healthcheck.extensions.fleet.on_ray import WAIT_S, Cluster, Node
from healthcheck.extensions.fleet.readback import MAX_LOG_BYTES, short, tail
from healthcheck.extensions.fleet.serving import LOG, Adapter, Phase, State, Wanted, served
from healthcheck.report.words import duration
from healthcheck.stages.repo.pack import Packed
from healthcheck.system import files, json_text
from healthcheck.system.json_text import JsonError
from healthcheck.text.messages import joined, msg

REACH_S = 10.0
SPARE_S = 120.0
"""In addition to the deadline of the launch: for a worker of Ray to start, and the commit to be unpacked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """The message of a node at the end of its server: why it ended, and the end of the output of deploy.sh."""

    said: str
    log: str


@dataclass(slots=True, eq=False)
class _Server:
    node: Node
    ref: Any
    state: State
    over: bool = False

    @property
    def url(self) -> str:
        """The server's root URL for other machines."""
        host = f"[{self.node.address}]" if ":" in self.node.address else self.node.address
        return f"http://{host}:{contract.PORT}"


@dataclass(slots=True)
class Replicas:
    """The servers that became ready; the others are noted.

    Attributes:
        cluster: closed at the end.
        logs: the folder for the logs of servers that end by themselves, a file for each node.
    """

    cluster: Cluster
    packed: Packed
    adapter: Adapter
    wanted: Wanted
    logs: Path
    progress: Progress
    _servers: list[_Server] = field(default_factory=list)

    @property
    def urls(self) -> tuple[str, ...]:
        """The roots of the ready servers."""
        return tuple(server.url for server in self._servers if server.state.phase is Phase.READY)

    def launch(self) -> None:
        """Launch the servers, and wait until each is ready or has failed.

        Raises:
            Blocked: none is ready and within reach.
        """
        for node in chosen(self.cluster.nodes, self.wanted):
            order = (node.name, self.packed, self.adapter)
            ref = self.cluster.submit(_SERVED, node, self.wanted.npus, node.name, order)
            self._servers.append(_Server(node=node, ref=ref, state=State()))
        self._settle()

    def close(self) -> None:
        """End every server, and wait for the end; notes why a server had already ended."""
        try:
            self._hear()
            refs = [server.ref for server in self._servers if not server.over]
            for ref in refs:
                ray.cancel(ref, recursive=False)
            if refs:
                self.progress.update(msg("ending the servers on {refs} nodes", len(refs)))
                with contextlib.suppress(KeyboardInterrupt):  # Ray ends the workers of a driver anyway
                    ray.wait(refs, num_returns=len(refs), timeout=2 * GRACE_S)
        finally:
            self.cluster.close()

    def _settle(self) -> None:
        """Wait until each server is ready or has failed."""
        limit_s = self.adapter.deadline_s + SPARE_S
        end = time.monotonic() + limit_s
        while waiting := [server for server in self._servers if server.state.phase is Phase.LAUNCHING]:
            if time.monotonic() > end:
                limit = duration(limit_s)
                late = msg("no answer within {limit_s}; other tasks of the cluster may have its NPUs", limit)
                for server in waiting:
                    self._end(server, late)
                break
            first = waiting[0]
            waits = msg(" · {name}: {said}", first.node.name, short(first.state.said))
            told = (len(self.urls), len(self._servers), waits)
            self.progress.update(msg("{ready} of {servers} servers are ready{waits}", *told))
            self._hear()
        for server in self._servers:
            if server.state.phase is Phase.READY and (why := _out_of_reach(server)):
                self._end(server, why)
        if not self.urls:
            raise Blocked(msg("no server is ready: ") + joined("; ", (_told(server) for server in self._servers)))

    def _hear(self) -> None:
        """Process the states of the servers, after a short wait."""
        running = {server.ref: server for server in self._servers if not server.over}
        ended = ray.wait(list(running), num_returns=len(running), timeout=WAIT_S)[0] if running else []
        said = self.cluster.stages()
        for ref, server in running.items():
            if ref in ended:
                server.over = True
                self._end(server, self._result(server))
            elif server.state.phase is not Phase.ENDED and server.node.name in said:
                with contextlib.suppress(JsonError):
                    server.state = json_text.load_as(said[server.node.name], State)

    def _end(self, server: _Server, why: str) -> None:
        known = server.state.phase is Phase.ENDED
        server.state = State(phase=Phase.ENDED, said=short(why))
        if not known:
            self.progress.note(msg("no server on {told}", _told(server)))

    def _result(self, server: _Server) -> str:
        """Why the server ended; writes its log."""
        try:
            message = ray.get(server.ref)
        except UsageError as error:
            return str(error)
        except RayError as error:
            return f"{type(error).__name__}: {error}"
        if not isinstance(message, Ended):
            return msg("the node sent something else than a result")
        if message.log:
            self.logs.mkdir(parents=True, exist_ok=True)
            path = self.logs / f"{server.node.name}.log"
            path.write_text(message.log[:MAX_LOG_BYTES], encoding="utf-8", errors="replace")
        return message.said


def chosen(nodes: Sequence[Node], wanted: Wanted) -> Sequence[Node]:
    """The nodes for the servers: the smallest fitting ones, one for each address.

    Raises:
        Blocked: there are fewer than wanted, or none.
    """
    fitting: dict[str, Node] = {}
    for node in sorted(nodes, key=lambda node: (node.npus, node.name)):
        if node.has(wanted.npus, wanted.npu):
            fitting.setdefault(node.address, node)
    if len(fitting) < (wanted.count or 1):
        what = npus_in_words(wanted.npus, wanted.npu)
        needs = msg(" with {what}", what) if wanted.npus or wanted.npu else ""
        at = joined(", ", (msg("{node} at {address}", node, node.address) for node in nodes))
        told = (wanted.count or 1, needs, len(fitting), at)
        raise Blocked(
            "{count} servers need as many nodes{needs}, each with an address of its own; {fitting} of "
            "these are: {value}",
            *told,
        )
    return list(fitting.values())[: wanted.count]


def _told(server: _Server) -> str:
    return msg("{name} ({url}): {said}", server.node.name, server.url, server.state.said)


def _out_of_reach(server: _Server) -> str:
    """Why this machine cannot reach a server that is ready on its node; "" if it can."""
    try:
        socket.create_connection((server.node.address, contract.PORT), timeout=REACH_S).close()
    except OSError as error:
        why = server.state.said or msg("a firewall or another network may lie between")
        told = (error.strerror or error, why)
        return msg("ready there, but out of reach from this machine ({strerror}): {why}", *told)
    return ""


def _served(order: tuple[str, Packed, Adapter], board: Any) -> Ended:
    """Runs in a worker on the node; cancelling the task raises KeyboardInterrupt here, which ends the server."""
    name, packed, adapter = order
    place = Path(tempfile.mkdtemp(prefix=files.prefix()))
    state = State()
    try:
        for now in served(packed, adapter, place):
            if now != state and now.phase is not Phase.ENDED:  # the result reports the end, with the log
                board.say.remote(name, json_text.dump_line(now).decode("utf-8"))
            state = now
        return Ended(said=state.said, log=tail(place / LOG))
    finally:
        files.remove_tree(str(place))


_SERVED = ray.remote(num_cpus=0, max_retries=0)(_served)
