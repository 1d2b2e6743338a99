"""The accuracy that a shift from the reference cost where that was measured: the small model of examples/tiny_lm.

`benchmarks/numerics_calibration.py` wrote the table; docs/numerics.md has it, and says how far it carries.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from healthcheck import json_text
from healthcheck.messages import msg

_TABLE = Path(__file__).resolve().parents[1] / "data" / "numerics-calibration.json"
_NEAR = 2.0
"""Divergences within this factor count as about the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """Weights made worse in one way.

    Attributes:
        kl: mean divergence per token from the right weights, in nats.
        lost: points of accuracy.
    """

    kl: float
    lost: float


@dataclass(frozen=True, slots=True, kw_only=True)
class _Table:
    rows: tuple[Row, ...]


@lru_cache(maxsize=1)
def rows() -> tuple[Row, ...]:
    """What was measured, smallest divergence first."""
    return tuple(sorted(json_text.load_as(_TABLE.read_bytes(), _Table).rows, key=lambda row: row.kl))


def cost(kl: float) -> str:
    """What a mean divergence of this size cost, in words."""
    first, last = rows()[0], rows()[-1]
    near = [row.lost for row in rows() if kl / _NEAR <= row.kl <= kl * _NEAR]
    if kl > last.kl:
        return msg("{lost:.0f} points or more", last.lost)
    if kl < first.kl or max(near, default=0.0) < 1:
        return msg("less than 1 point")
    return msg("{near:.0f} to {near2:.0f} points", max(min(near), 0), max(near))
