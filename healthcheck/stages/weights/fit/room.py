"""The memory of one device during a launch: what the weights leave, and how much of that the cache gets."""

from __future__ import annotations

from dataclasses import dataclass

from healthcheck.ascend import stacks
from healthcheck.ascend.hardware import Family, Npu
from healthcheck.stages.weights.fit import memory
from healthcheck.stages.weights.fit.demand import Demand

HALF_SINCE = ">=0.18.0"
"""Releases that give the cache of a 310P half of the free memory. Source: vllm_ascend/_310p/worker_310p.py."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """Bytes of one device.

    Attributes:
        weights: the device's part of the weights.
        left: what they leave of the engine's share; negative if they do not fit.
        outside: what the engine leaves of the device.
        cache_share: the part of the free memory that the cache gets.
    """

    weights: int
    left: int
    outside: int
    cache_share: float

    @property
    def most_cache(self) -> int:
        """The cache if no working memory is reserved."""
        return int(self.left * self.cache_share)

    @property
    def cache(self) -> int:
        """The cache if the usual working memory is reserved; negative if that does not fit."""
        return int((self.left - memory.OVERHEAD_BYTES) * self.cache_share)

    @property
    def after_start(self) -> int:
        """What remains for allocations after the cache was made."""
        return self.outside + max(0, self.left - memory.OVERHEAD_BYTES) - max(0, self.cache)


def room_of(demand: Demand, npu: Npu) -> Room:
    weights = memory.weights_per_device(
        demand.load.total_bytes, demand.load.expert_bytes, demand.layout
    )
    engine = int(npu.usable_bytes * demand.utilization)
    share = (
        0.5 if npu.family is Family.P310 and stacks.in_range(demand.release, HALF_SINCE) else 1.0
    )
    return Room(
        weights=weights, left=engine - weights, outside=npu.usable_bytes - engine, cache_share=share
    )
