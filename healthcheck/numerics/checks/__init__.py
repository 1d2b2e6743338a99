"""The checks of the numerics stage in order, each in a module that is named after its id."""

from __future__ import annotations

from healthcheck.core.check import Check
from healthcheck.numerics.checks.batch import batch
from healthcheck.numerics.checks.chunked_prefill import chunked_prefill
from healthcheck.numerics.checks.contrast import contrast
from healthcheck.numerics.checks.decode import decode
from healthcheck.numerics.checks.interface import interface
from healthcheck.numerics.checks.length import length
from healthcheck.numerics.checks.prefix_cache import prefix_cache
from healthcheck.numerics.checks.reference import reference
from healthcheck.numerics.checks.repeat import repeat
from healthcheck.numerics.records import NumericsRun

CHECKS: tuple[Check[NumericsRun], ...] = (
    contrast,
    repeat,
    interface,
    batch,
    prefix_cache,
    chunked_prefill,
    decode,
    length,
    reference,
)
