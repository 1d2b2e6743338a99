"""The interface by which a run reports its progress."""

from __future__ import annotations

from typing import Protocol

from healthcheck.core.records import CheckResult
from healthcheck.core.stages import Stage


class Progress(Protocol):
    """A listener to a run. Implementations only show; they never decide."""

    def stage(self, stage: Stage, title: str) -> None:
        """A stage begins."""

    def update(self, text: str, *, done: int = 0, total: int = 0) -> None:
        """Show a line of text, and how far the work is (total 0: unknown)."""

    def note(self, text: str) -> None:
        """Show important information at once; it stays visible."""

    def result(self, result: CheckResult) -> None:
        """A check ended."""

    def close(self) -> None:
        """The run is over: leave nothing on the terminal."""


class Silent:
    def stage(self, stage: Stage, title: str) -> None:
        pass

    def update(self, text: str, *, done: int = 0, total: int = 0) -> None:
        pass

    def note(self, text: str) -> None:
        pass

    def result(self, result: CheckResult) -> None:
        pass

    def close(self) -> None:
        pass
