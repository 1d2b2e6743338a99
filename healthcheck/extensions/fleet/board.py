"""The tasks of a cluster report their stages here; the driver reads them."""

from __future__ import annotations


class Board:
    """The last stage of each running task, by its name; an actor of Ray that ends with the driver."""

    def __init__(self) -> None:
        self._stages: dict[str, str] = {}

    def say(self, task: str, stage: str) -> None:
        """Record the stage of a task."""
        self._stages[task] = stage

    def stages(self) -> dict[str, str]:
        return self._stages
