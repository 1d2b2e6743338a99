"""The options for examining a machine."""

from __future__ import annotations

import enum

SOAK_MINUTES = 20


class Depth(enum.IntEnum):
    """The levels of `--level`. A deeper one includes those before it."""

    SECONDS = 1
    MINUTES = 2
    SOAK = 3
