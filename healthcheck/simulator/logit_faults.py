"""Faults of the kernels: log-probabilities that are wrong in one situation, and honest in all others."""

from __future__ import annotations

from collections.abc import Sequence

from healthcheck.simulator.draws import uniform
from healthcheck.simulator.next_token import Step, logits

LENGTHS = (64, 65)
BATCH = 3
LONG_PROMPT = 128
_DRIFT = 0.12
_NEIGHBOURS = 3
_STRUCK_SHARE = 0.5
Logits = Sequence[float]


def prefix_cache_garbles(values: Logits, step: Step) -> Logits:
    """A prompt of which the cache has a part."""
    return _garbled(values, step) if step.cached else values


def one_batch_size_garbles(values: Logits, step: Step) -> Logits:
    """Three requests at once."""
    return _garbled(values, step) if step.batch == BATCH else values


def chunked_prefill_garbles(values: Logits, step: Step) -> Logits:
    """A long prompt that comes while others decode."""
    hit = step.decoding >= _NEIGHBOURS and step.prompt > LONG_PROMPT
    return _garbled(values, step) if hit else values


def one_length_garbles(values: Logits, step: Step) -> Logits:
    """Tokens that are decoded behind a prompt of 64 or 65."""
    return _garbled(values, step) if step.decoded and step.prompt in LENGTHS else values


def decode_drifts(values: Logits, step: Step) -> Logits:
    """Decoded tokens, a little: more than rounding does, less than another answer takes."""
    return _mixed(values, step, _DRIFT) if step.decoded else values


def never_repeats(values: Logits, step: Step) -> Logits:
    """Every other request, at random."""
    return _garbled(values, step) if uniform(f"never/{step.request}") < _STRUCK_SHARE else values


def streams_garble(values: Logits, step: Step) -> Logits:
    """Answers as a stream."""
    return _garbled(values, step) if step.streamed else values


def flat(values: Logits, _: Step) -> Logits:
    """All tokens are equally likely."""
    return [0.0 for _ in values]


def _garbled(values: Logits, step: Step) -> Logits:
    return _mixed(values, step, 1.0)


def _mixed(values: Logits, step: Step, share: float) -> Logits:
    other = logits(step.ids, key="wrong")
    return [(1 - share) * value + share * wrong for value, wrong in zip(values, other, strict=True)]
