"""A simulated endpoint with a known accuracy and chosen faults, always labelled as simulated.

It is for tests, for the demonstration without an engine, and for experiments; it never replaces a measurement of a
model.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from healthcheck.extensions.simulator.behaviour import DEFAULT_ACCURACY, Behaviour
from healthcheck.extensions.simulator.catalogue import FAULTS
from healthcheck.extensions.simulator.dialects import DIALECTS
from healthcheck.extensions.simulator.manners import Manner
from healthcheck.extensions.simulator.request import Tokenizer, Words

if TYPE_CHECKING:
    from healthcheck.extensions.simulator.server import Simulator

__all__ = [
    "DEFAULT_ACCURACY",
    "DIALECTS",
    "FAULTS",
    "Behaviour",
    "Manner",
    "Simulator",
    "Tokenizer",
    "Words",
]


def __getattr__(name: str) -> type[Simulator]:
    """Import the server on first use: importing asyncio is too slow for the names that `--help` lists."""
    if name != "Simulator":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from healthcheck.extensions.simulator.server import Simulator  # noqa: PLC0415

    return Simulator
