"""Where the tasks of a cluster say how far they are: the process that drives them reads it."""

from __future__ import annotations


class Board:
    """What each running task said last, by its name; an actor of Ray that ends with the driver."""

    def __init__(self) -> None:
        self._stages: dict[str, str] = {}

    def say(self, task: str, stage: str) -> None:
        """A task is in this stage."""
        self._stages[task] = stage

    def stages(self) -> dict[str, str]:
        """The stage of each task, by name."""
        return self._stages
