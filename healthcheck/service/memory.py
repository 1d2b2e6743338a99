"""Is the memory of the NPUs given back? Looks before the launch, once it is settled, and after its last process."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from healthcheck.service.records import ChipMemory, Kept

Look = Callable[[], tuple[ChipMemory, ...]]
TELLING_BYTES = 2**30
"""Figures of an idle chip move by a few hundred MiB; a model takes far more."""
GIVEN_BACK_S = 15.0
"""The driver takes the memory of a dead process back within seconds."""
_EACH_S = 1.0


@dataclass(slots=True)
class MemoryWatch:
    """The memory that one launch takes on the chips of this machine. `look` returns () if there are none."""

    look: Look
    given_back_s: float = GIVEN_BACK_S
    _before: dict[str, int] = field(default_factory=dict)
    _taken: frozenset[str] = frozenset()

    def before(self) -> None:
        """Nothing is launched yet."""
        self._before = {chip.chip: chip.used_bytes for chip in self.look()}

    def settled(self) -> None:
        """The launch is ready, or has failed: which chips has it taken?"""
        if self._before:
            self._taken = frozenset(chip.chip for chip in self.look() if self._grown(chip))

    def kept(self) -> tuple[Kept, ...]:
        """Nothing of the launch is left: which of its chips still have no memory back, after a while?

        A chip that it had not taken is left out: whatever takes it meanwhile is somebody else's.
        """
        end = time.monotonic() + self.given_back_s
        while self._taken:
            left = tuple(chip for chip in self.look() if chip.chip in self._taken and self._grown(chip))
            if not left or time.monotonic() >= end:
                return tuple(Kept(chip=chip, before_bytes=self._before[chip.chip]) for chip in left)
            time.sleep(_EACH_S)
        return ()

    def _grown(self, chip: ChipMemory) -> bool:
        before = self._before.get(chip.chip)
        return before is not None and chip.used_bytes - before > TELLING_BYTES
