"""Faults of kernels: log-probabilities that are wrong in one situation, and honest in all others."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from healthcheck.simulator.draws import uniform
from healthcheck.simulator.next_token import Step, logits

LENGTHS = (64, 65)
BATCH = 3
LONG_PROMPT = 128
_DRIFT = 0.12
_NEIGHBOURS = 3
_STRUCK_SHARE = 0.5
Logits = Sequence[float]


def _garbled(situation: Callable[[Step], object], share: float = 1.0) -> Callable[[Logits, Step], Logits]:
    """Logits that in one situation are mixed with those of another model."""

    def garble(values: Logits, step: Step) -> Logits:
        if not situation(step):
            return values
        other = logits(step.ids, key="wrong")
        return [(1 - share) * value + share * wrong for value, wrong in zip(values, other, strict=True)]

    return garble


prefix_cache_garbles = _garbled(lambda step: step.cached)
"""A prompt that is partly cached."""
one_batch_size_garbles = _garbled(lambda step: step.batch == BATCH)
chunked_prefill_garbles = _garbled(lambda step: step.decoding >= _NEIGHBOURS and step.prompt > LONG_PROMPT)
"""A long prompt that arrives while others decode."""
one_length_garbles = _garbled(lambda step: step.decoded and step.prompt in LENGTHS)
"""Tokens decoded after a prompt of one of these lengths."""
decode_drifts = _garbled(lambda step: step.decoded, _DRIFT)
"""Decoded tokens drift: more than by rounding, less than needed for another answer."""
never_repeats = _garbled(lambda step: uniform(f"never/{step.request}") < _STRUCK_SHARE)
"""Every other request, at random."""
streams_garble = _garbled(lambda step: step.streamed)


def flat(values: Logits, _: Step) -> Logits:
    """Make all tokens equally likely."""
    return [0.0 for _ in values]
