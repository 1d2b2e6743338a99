"""How good or bad something is: a stage of a report, a remark about machines."""

from __future__ import annotations

import enum


class Tone(enum.Enum):
    """The worst outcome of a stage's checks, or that it has none."""

    PASS = "pass"
    WARN = "warn"
    SKIP = "skip"
    FAIL = "fail"
    ERROR = "error"
    OPEN = "open"
    NONE = "none"
