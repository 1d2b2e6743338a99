"""Faults of the logits, each in one situation, and faults of the sampler.

A fault of the logits garbles them: it mixes them with the logits of another model. In every other situation the
logits are right.

| fault | its situation |
|---|---|
| prefix_cache_garbles | the cache holds a part of the prompt |
| one_batch_size_garbles | a batch of one size |
| one_row_garbles | one row of the batches of one size |
| chunked_prefill_garbles | a long prompt arrives while other requests decode |
| one_length_garbles | tokens decoded after a prompt of certain lengths |
| decode_drifts | decoded tokens; they change by more than rounding, but keep the answer |
| long_prompts_drift | the same, only after a long prompt |
| random_requests_garble | every other request, at random |
| streams_garble | the answer is a stream |
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

from healthcheck.extensions.simulator.draws import uniform
from healthcheck.extensions.simulator.next_token import Choice, Step, logits

_GARBLED_BATCH = 3
"""Requests in a batch that one_batch_size_garbles garbles."""
_BATCH_OF_GARBLED_ROW = 5
"""Requests in a batch of which one_row_garbles garbles a row."""
_GARBLED_ROW = 3
"""The place of that row, from 0: not the first and not the last."""
_GARBLED_LENGTHS = (64, 65)
"""Tokens of a prompt: a size of a captured graph, and one token more."""
_CHUNKED_PROMPT = 128
"""Tokens of a prompt; chunked_prefill_garbles only garbles longer ones."""
_DECODING_NEIGHBOURS = 3
"""Requests that decode meanwhile, at least; `npu-adapter numerics` has four of them."""
_DRIFTING_PROMPT = 300
"""Tokens of a prompt; long_prompts_drift only garbles longer ones."""
_DRIFT_SHARE = 0.12
"""Share of the other model's logits in a drift: more than rounding, too little for another answer."""
_GARBLED_REQUESTS = 0.5
"""Share of requests that random_requests_garble garbles."""
_MIN_P = 0.5
"""The least probability of a drawn token, as a share of the likeliest one's."""
_REPETITION_PENALTY = 1.5
"""Divisor of the logits of earlier tokens."""
_NOISE_NATS = 0.5
"""Standard deviation of the noise on each logit."""
_MISSING_NATS = 0.3
"""Nats by which wrong_normaliser reports each log-probability too low."""
Logits = Sequence[float]


def _garbled(
    situation: Callable[[Step], object], share: float = 1.0
) -> Callable[[Logits, Step], Logits]:
    """A fault that mixes logits with those of another model, if the situation is true.

    `share` is that of the other model.
    """

    def garble(values: Logits, step: Step) -> Logits:
        if not situation(step):
            return values
        other = logits(step.ids, key="wrong")
        return [
            (1 - share) * value + share * wrong for value, wrong in zip(values, other, strict=True)
        ]

    return garble


prefix_cache_garbles = _garbled(lambda step: step.cached)
one_batch_size_garbles = _garbled(lambda step: step.batch == _GARBLED_BATCH)
one_row_garbles = _garbled(
    lambda step: step.batch == _BATCH_OF_GARBLED_ROW and step.row == _GARBLED_ROW
)
chunked_prefill_garbles = _garbled(
    lambda step: step.decoding >= _DECODING_NEIGHBOURS and step.prompt > _CHUNKED_PROMPT
)
one_length_garbles = _garbled(lambda step: step.decoded and step.prompt in _GARBLED_LENGTHS)
decode_drifts = _garbled(lambda step: step.decoded, _DRIFT_SHARE)
long_prompts_drift = _garbled(
    lambda step: step.decoded and step.prompt > _DRIFTING_PROMPT, _DRIFT_SHARE
)
random_requests_garble = _garbled(lambda step: uniform(f"never/{step.request}") < _GARBLED_REQUESTS)
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
    """Draw only tokens that are at least half as likely as the likeliest one."""
    least = max(choice.logits) + choice.temperature * math.log(_MIN_P)
    return replace(
        choice, logits=[value if value >= least else -math.inf for value in choice.logits]
    )


def repetition_penalty(choice: Choice, step: Step) -> Choice:
    seen = set(step.ids)
    return replace(
        choice,
        logits=[
            value / _REPETITION_PENALTY if token in seen else value
            for token, value in enumerate(choice.logits)
        ],
    )


def logit_noise(choice: Choice, step: Step) -> Choice:
    """Add noise to the logits of the draw; the reported log-probabilities do not contain it."""
    key = f"noise/{step.request}/{step.row}/{step.decoded}"
    return replace(
        choice,
        logits=[
            value + _NOISE_NATS * _normal(f"{key}/{token}")
            for token, value in enumerate(choice.logits)
        ],
    )


def wrong_normaliser(choice: Choice, _: Step) -> Choice:
    return replace(choice, told=[value - _MISSING_NATS for value in choice.told])


def _normal(key: str) -> float:
    """A draw of the standard normal distribution, fixed by its key (Box-Muller transform)."""
    radius = math.sqrt(-2 * math.log(1 - uniform(key)))
    return radius * math.cos(2 * math.pi * uniform(key + "/angle"))
