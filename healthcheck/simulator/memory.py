"""What a simulated server keeps from one request to the next. A sound one keeps nothing; faults do."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from healthcheck.records import JsonValue
from healthcheck.simulator.spoken import Spoken

_MOST_MESSAGES = 64


@dataclass(slots=True)
class Memory:
    """State that all requests share.

    Attributes:
        stuck: chat requests are not answered any more.
        beside: how many chat requests are being answered.
        history: the latest messages of all clients.
        making: the answers that are being made, in the order in which they were begun.
        dice: for faults that strike at random.
    """

    stuck: bool = False
    beside: int = 0
    history: deque[dict[str, JsonValue]] = field(default_factory=lambda: deque(maxlen=_MOST_MESSAGES))
    making: list[Spoken] = field(default_factory=list)
    dice: random.Random = field(default_factory=lambda: random.Random(0))

    @contextmanager
    def answering(self) -> Iterator[None]:
        """One chat request more for a while."""
        self.beside += 1
        try:
            yield
        finally:
            self.beside -= 1

    @contextmanager
    def beside_others(self, spoken: Spoken) -> Iterator[None]:
        """One answer more in the making."""
        self.making.append(spoken)
        try:
            yield
        finally:
            self.making = [each for each in self.making if each is not spoken]

    def neighbour(self, spoken: Spoken) -> Spoken | None:
        """The answer that was begun before this one and is still being made; of the first one, the last."""
        places = [place for place, each in enumerate(self.making) if each is spoken]
        other = self.making[places[0] - 1] if places else None
        return None if other is spoken else other
