"""Several servers of one model as one: a request goes where the fewest are open; a server that dies is taken out.

Of one server nothing here is felt: it always takes the next request, and is never taken out.
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
"""Failed tries in a row, each begun after the one before it had failed, that take a server out of a run."""
_LONGEST_REST_S = 30.0


@dataclass(slots=True, eq=False)
class Replica:
    """One server with its connections.

    Attributes:
        open: requests on their way; asked: requests in all.
        strikes: failed tries in a row; of those that were on their way at the same time, one counts.
        struck: time.monotonic() of the last of them.
        rests_until: no new request goes to it before this moment.
        lost: why it was taken out, "" while it is in.
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
        """What to compare it by: the fewest open requests first, then the fewest in all."""
        return self.open, self.asked


class Replicas:
    """Hands out servers, the one with the fewest open requests first."""

    def __init__(
        self,
        replicas: Sequence[Replica],
        *,
        each: int,
        first_rest_s: float,
        silence_s: float,
        lose: Callable[[Lost], None],
    ) -> None:
        """`each` server has so many requests open; `lose` hears of one that is taken out.

        Args:
            replicas: at least one.
            each: most open requests of a server, but for those that another server failed.
            first_rest_s: after the first failed try; it doubles from one to the next.
            silence_s: a server from which no byte came for so long is taken out at its first failed try.
            lose: takes a server that is taken out.
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
        """The servers that are in."""
        return tuple(replica for replica in self._all if not replica.lost)

    @property
    def room(self) -> int:
        """How many requests can be open."""
        return self._each * len(self.left)

    @property
    def told(self) -> str:
        """For the progress line: "2 of 3 servers"; "" for one."""
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
        """Whether a server is in beside this one."""
        return any(replica is not failed for replica in self.left)

    def take_another(self, failed: Replica) -> Replica:
        """A server for a request that `failed` could not answer; that one again if it is the only one."""
        now = time.monotonic()
        others = [each for each in self.left if each is not failed] or list(self.left)
        return self._taken(min(others, key=lambda each: (each.rests_until > now, *each.load)))

    def give_back(self, replica: Replica) -> None:
        """A request is done with, in one way or another."""
        replica.open -= 1
        self._changed.set()

    def answered(self, replica: Replica) -> None:
        """It answered: it lives."""
        replica.strikes, replica.rests_until = 0, 0.0

    def failed(self, replica: Replica, began: float, why: str) -> None:
        """A try that began at this moment failed in a way in which another server need not.

        The last server stays: what it fails is counted by the run.
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
