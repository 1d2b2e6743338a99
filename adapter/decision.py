"""The parts of a plan."""

from __future__ import annotations

from dataclasses import dataclass

from adapter.settings import Value


class Refusal(Exception):  # noqa: N818 - an outcome more than an error
    """The launch cannot work; the text is one line with the reason and what would work."""


@dataclass(frozen=True)
class Decision:
    """One option: its value (None leaves it to vLLM), the reason, and the source of the reason."""

    key: str
    value: Value | None
    why: str
    source: str

    def arguments(self) -> tuple[str, ...]:
        """The words that the option adds to the command line."""
        flag = "--" + self.key.replace("_", "-")
        if self.value is None or self.value is False:
            return ()
        if self.value is True:
            return (flag,)
        return self.value if isinstance(self.value, tuple) else (flag, str(self.value))
