"""The checks of the numerics stage in order, each in a module named after its id."""

from __future__ import annotations

from healthcheck.core.check import Check
from healthcheck.extensions.numerics.checks.batch import batch
from healthcheck.extensions.numerics.checks.chunked_prefill import chunked_prefill
from healthcheck.extensions.numerics.checks.contrast import contrast
from healthcheck.extensions.numerics.checks.decode import decode
from healthcheck.extensions.numerics.checks.interface import interface
from healthcheck.extensions.numerics.checks.length import length
from healthcheck.extensions.numerics.checks.own_answers import own_answers
from healthcheck.extensions.numerics.checks.prefix_cache import prefix_cache
from healthcheck.extensions.numerics.checks.reference import reference
from healthcheck.extensions.numerics.checks.repeat import repeat
from healthcheck.extensions.numerics.checks.sampler import sampler
from healthcheck.extensions.numerics.records import NumericsRun

CHECKS: tuple[Check[NumericsRun], ...] = (
    contrast,
    sampler,
    repeat,
    interface,
    own_answers,
    batch,
    prefix_cache,
    chunked_prefill,
    decode,
    length,
    reference,
)
