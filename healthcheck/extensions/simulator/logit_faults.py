"""Faults of kernels, wrong in one situation and honest in all others, and of samplers, which draw otherwise."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

from healthcheck.extensions.simulator.draws import uniform
from healthcheck.extensions.simulator.next_token import Choice, Step, logits

LENGTHS = (64, 65)
BATCH = 3
BATCH_OF_ROW, ROW = 5, 3
LONG_PROMPT = 128
LONG_SEQUENCE = 300
_DRIFT = 0.12
_NEIGHBOURS = 3
_STRUCK_SHARE = 0.5
_PENALTY, _NOISE, _LOST = 1.5, 0.5, 0.3
Logits = Sequence[float]


def _garbled(
    situation: Callable[[Step], object], share: float = 1.0
) -> Callable[[Logits, Step], Logits]:
    """Logits that in one situation are mixed with those of another model."""

    def garble(values: Logits, step: Step) -> Logits:
        if not situation(step):
            return values
        other = logits(step.ids, key="wrong")
        return [
            (1 - share) * value + share * wrong for value, wrong in zip(values, other, strict=True)
        ]

    return garble


prefix_cache_garbles = _garbled(lambda step: step.cached)
"""A prompt that is partly cached."""
one_batch_size_garbles = _garbled(lambda step: step.batch == BATCH)
one_row_garbles = _garbled(lambda step: step.batch == BATCH_OF_ROW and step.row == ROW)
chunked_prefill_garbles = _garbled(
    lambda step: step.decoding >= _NEIGHBOURS and step.prompt > LONG_PROMPT
)
"""A long prompt that arrives while others decode."""
one_length_garbles = _garbled(lambda step: step.decoded and step.prompt in LENGTHS)
"""Tokens decoded after a prompt of one of these lengths."""
decode_drifts = _garbled(lambda step: step.decoded, _DRIFT)
"""Decoded tokens drift: more than by rounding, less than needed for another answer."""
long_prompts_drift = _garbled(lambda step: step.decoded and step.prompt > LONG_SEQUENCE, _DRIFT)
never_repeats = _garbled(lambda step: uniform(f"never/{step.request}") < _STRUCK_SHARE)
"""Every other request, at random."""
streams_garble = _garbled(lambda step: step.streamed)


def flat(values: Logits, _: Step) -> Logits:
    """Make all tokens equally likely."""
    return [0.0 for _ in values]


def always_greedy(choice: Choice, _: Step) -> Choice:
    return replace(choice, temperature=0.0)


def temperature_always_1(choice: Choice, _: Step) -> Choice:
    return replace(choice, temperature=1.0)


def temperature_doubled(choice: Choice, _: Step) -> Choice:
    return replace(choice, temperature=2 * choice.temperature)


def min_p(choice: Choice, _: Step) -> Choice:
    """Draw only what is at least half as likely as the likeliest."""
    least = max(choice.logits) + choice.temperature * math.log(0.5)
    return replace(
        choice, logits=[value if value >= least else -math.inf for value in choice.logits]
    )


def repetition_penalty(choice: Choice, step: Step) -> Choice:
    seen = set(step.ids)
    return replace(
        choice,
        logits=[
            value / _PENALTY if place in seen else value
            for place, value in enumerate(choice.logits)
        ],
    )


def logit_noise(choice: Choice, step: Step) -> Choice:
    """Noise of half a nat, which is not in what is told."""
    key = f"noise/{step.request}/{step.row}/{step.decoded}"
    return replace(
        choice,
        logits=[
            value + _NOISE * _normal(f"{key}/{place}") for place, value in enumerate(choice.logits)
        ],
    )


def wrong_normaliser(choice: Choice, _: Step) -> Choice:
    return replace(choice, told=[value - _LOST for value in choice.told])


def _normal(key: str) -> float:
    radius = math.sqrt(-2 * math.log(1 - uniform(key)))
    return radius * math.cos(2 * math.pi * uniform(key + "/angle"))
