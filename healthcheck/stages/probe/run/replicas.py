"""Distributes requests over several servers of one model by load, and removes servers that die.

A single server always takes the next request, and is never removed.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from healthcheck.stages.probe.records import Lost
from healthcheck.text.messages import msg
from healthcheck.wire.many import Connections

STRIKES = 4
"""This many failed attempts in a row remove a server from a run, each started after the previous one failed."""
_LONGEST_REST_S = 30.0


@dataclass(slots=True, eq=False)
class Replica:
    """One server with its connections.

    Attributes:
        open: requests on their way; asked: requests in all.
        strikes: failed attempts in a row; concurrent ones count once.
        struck: time.monotonic() of the last of them.
        rests_until: the server gets no new request before this moment.
        lost: why the server was removed, "" while it is in use.
    """

    url: str
    line: Connections
    open: int = 0
    asked: int = 0
    strikes: int = 0
    struck: float = 0.0
    rests_until: float = 0.0
    lost: str = ""

    @property
    def load(self) -> tuple[int, int]:
        """The sort key: the fewest open requests first, then the fewest in all."""
        return self.open, self.asked


class Replicas:
    """Assigns servers to requests, the one with the fewest open requests first."""

    def __init__(
        self,
        replicas: Sequence[Replica],
        *,
        each: int,
        first_rest_s: float,
        silence_s: float,
        lose: Callable[[Lost], None],
    ) -> None:
        """Set up the servers.

        Args:
            replicas: at least one.
            each: the most open requests of a server, not counting those that failed on another server.
            first_rest_s: the rest after the first failed attempt; it doubles with each attempt.
            silence_s: a server that sent no byte for this long is removed at its first failed attempt.
            lose: called with each server that is removed.
        """
        self._all = tuple(replicas)
        self._each = each
        self._first_rest_s = first_rest_s
        self._silence_s = silence_s
        self._lose = lose
        self._changed = asyncio.Event()

    @property
    def several(self) -> bool:
        return len(self._all) > 1

    @property
    def left(self) -> tuple[Replica, ...]:
        """The servers in use."""
        return tuple(replica for replica in self._all if not replica.lost)

    @property
    def room(self) -> int:
        """The most requests that can be open."""
        return self._each * len(self.left)

    @property
    def told(self) -> str:
        """The servers for the progress line: "2 of 3 servers"; "" for one."""
        if not self.several:
            return ""
        return msg("{left} of {all} servers", len(self.left), len(self._all))

    async def take(self) -> Replica:
        """The next server for a new request; waits until one has room."""
        while True:
            now = time.monotonic()
            left = self.left
            ready = [each for each in left if each.rests_until <= now or len(left) == 1]
            free = [each for each in ready if each.open < self._each]
            if free:
                return self._taken(min(free, key=lambda each: each.load))
            rested = [each.rests_until - now for each in left if each.rests_until > now]
            self._changed.clear()
            waiting = asyncio.ensure_future(self._changed.wait())
            try:
                await asyncio.wait({waiting}, timeout=min(rested, default=None))
            finally:
                waiting.cancel()

    def has_another(self, failed: Replica) -> bool:
        """Whether another server is in use."""
        return any(replica is not failed for replica in self.left)

    def take_another(self, failed: Replica) -> Replica:
        """A server for a request that `failed` could not answer; the same one if it is the only one."""
        now = time.monotonic()
        others = [each for each in self.left if each is not failed] or list(self.left)
        return self._taken(min(others, key=lambda each: (each.rests_until > now, *each.load)))

    def give_back(self, replica: Replica) -> None:
        """Release a server after a request, successful or not."""
        replica.open -= 1
        self._changed.set()

    def answered(self, replica: Replica) -> None:
        """Record an answer: the server is alive."""
        replica.strikes, replica.rests_until = 0, 0.0

    def failed(self, replica: Replica, began: float, why: str) -> None:
        """Record a failed attempt that another server might answer; `began` is when it started.

        The last server is never removed: the run counts its failures.
        """
        now = time.monotonic()
        if replica.lost or len(self.left) == 1 or began <= replica.struck:
            return
        replica.strikes, replica.struck = replica.strikes + 1, now
        replica.rests_until = now + min(self._first_rest_s * 2 ** (replica.strikes - 1), _LONGEST_REST_S)
        silent = replica.line.silent_s >= self._silence_s
        if silent or replica.strikes >= STRIKES:
            times = msg("silent") if silent else msg("{strikes} failed tries in a row", replica.strikes)
            replica.lost = msg("{times}; the last: {why}", times, why)
            self._changed.set()
            self._lose(Lost(url=replica.url, why=replica.lost))

    def _taken(self, replica: Replica) -> Replica:
        replica.open += 1
        replica.asked += 1
        return replica
