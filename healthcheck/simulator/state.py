"""The state that a simulated server keeps between requests. Only faults use it."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from healthcheck.records import JsonValue
from healthcheck.simulator.generation import Generation

_MOST_MESSAGES = 64


@dataclass(slots=True)
class ServerState:
    """State shared by all requests.

    Attributes:
        stuck: no chat request is answered any more.
        concurrent: how many chat requests are being answered now.
        history: the latest messages of all clients.
        in_progress: the current generations, the oldest first.
        random: for faults that occur at random.
    """

    stuck: bool = False
    concurrent: int = 0
    history: deque[dict[str, JsonValue]] = field(default_factory=lambda: deque(maxlen=_MOST_MESSAGES))
    in_progress: list[Generation] = field(default_factory=list)
    random: random.Random = field(default_factory=lambda: random.Random(0))

    @contextmanager
    def answering(self) -> Iterator[None]:
        """Count one chat request while it lasts."""
        self.concurrent += 1
        try:
            yield
        finally:
            self.concurrent -= 1

    @contextmanager
    def generating(self, generation: Generation) -> Iterator[None]:
        """Register one generation while it lasts."""
        self.in_progress.append(generation)
        try:
            yield
        finally:
            self.in_progress = [each for each in self.in_progress if each is not generation]

    def neighbour(self, generation: Generation) -> Generation | None:
        """The generation in progress that began just before this one; for the oldest, the newest."""
        places = [place for place, each in enumerate(self.in_progress) if each is generation]
        other = self.in_progress[places[0] - 1] if places else None
        return None if other is generation else other
