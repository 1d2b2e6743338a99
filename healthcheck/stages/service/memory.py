"""Finds NPU memory that a launch does not release: reads it before the launch, after the start, and at the end."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from healthcheck.stages.service.records import ChipMemory, Kept

Look = Callable[[], tuple[ChipMemory, ...]]
NOTICED_BYTES = 2**30
"""The least growth that counts: an idle chip varies by a few hundred MiB, and a model takes far more."""
RELEASED_S = 15.0
"""The driver releases the memory of a dead process within seconds; wait this long at most."""
_EACH_S = 1.0


@dataclass(slots=True)
class MemoryWatch:
    """The memory that one launch takes on the chips of this machine. `look` returns () if there are no chips."""

    look: Look
    released_s: float = RELEASED_S
    _before: dict[str, int] = field(default_factory=dict)
    _taken: frozenset[str] = frozenset()

    def record_idle(self) -> None:
        """Record the memory in use; call it before the launch."""
        self._before = {chip.chip: chip.used_bytes for chip in self.look()}

    def record_taken(self) -> None:
        """Record the chips whose memory has grown; call it when the launch is ready, or has failed."""
        if self._before:
            self._taken = frozenset(chip.chip for chip in self.look() if self._grown(chip))

    def unreleased(self) -> tuple[Kept, ...]:
        """Wait for the memory of those chips after the last process; returns the chips that still hold it.

        Other chips do not count: their growth belongs to another program.
        """
        end = time.monotonic() + self.released_s
        while self._taken:
            left = tuple(chip for chip in self.look() if chip.chip in self._taken and self._grown(chip))
            if not left or time.monotonic() >= end:
                return tuple(Kept(chip=chip, before_bytes=self._before[chip.chip]) for chip in left)
            time.sleep(_EACH_S)
        return ()

    def _grown(self, chip: ChipMemory) -> bool:
        before = self._before.get(chip.chip)
        return before is not None and chip.used_bytes - before > NOTICED_BYTES
