"""How a run reports its progress."""

from __future__ import annotations

from typing import Protocol

from healthcheck.core.records import CheckResult, Stage


class Progress(Protocol):
    """Listens to a run. Implementations only show; they never decide."""

    def stage(self, stage: Stage, title: str) -> None:
        """A stage begins."""

    def update(self, text: str, *, done: int = 0, total: int = 0) -> None:
        """Something moved: a line of text, and how far it is (total 0: unknown)."""

    def note(self, text: str) -> None:
        """Something to know before the rest: it is shown at once, and stays."""

    def result(self, result: CheckResult) -> None:
        """A check ended."""

    def close(self) -> None:
        """The run is over: nothing may be left on the terminal."""


class Silent:
    """A listener that shows nothing."""

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
