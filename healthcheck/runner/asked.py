"""What may be asked of a look at a machine."""

from __future__ import annotations

import enum


class Depth(enum.IntEnum):
    """How closely a machine is looked at: the levels of `--level`. A deeper one includes those before it."""

    SECONDS = 1
    MINUTES = 2
    SOAK = 3


class Scene(enum.Enum):
    """The scenes of the diagnosis, by ascend-dmi's names."""

    HEALTH = "healthCheck"
    PERFORMANCE = "performanceCheck"
    STRESS = "stressTest"
