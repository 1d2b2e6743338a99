"""Does the model agree with the answers that came? Greedy answers, scored by the server behind their own problems.

Whatever changes a prompt, a token or a text on its way (a front, a replica, a sampler, a draft) leaves tokens
that the model itself calls unlikely. vLLM scores a text behind a problem with `prompt_logprobs`. Prompt and
answer together have few tokens, and one is scored at a time: vLLM keeps the logits of a whole prompt in the
memory of the device.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping

from healthcheck.core.records import JsonValue
from healthcheck.extensions.numerics.records import Scored
from healthcheck.extensions.numerics.relations import Bench
from healthcheck.system import json_text
from healthcheck.system.json_text import JsonError

ANSWERS = 20
_TOKENS = 64
_FEWEST_CHARACTERS = 12


async def own_answers(bench: Bench) -> tuple[Scored, ...]:
    """Answers to word problems that were asked all at once, as far as the server scores them."""
    asker, problems = bench.asker, bench.messages[-ANSWERS:]
    said = await asyncio.gather(*(asker.answer(problem, tokens=_TOKENS) for problem in problems))
    found: list[Scored] = []
    for problem, answer in zip(problems, said, strict=True):
        if len(answer) < _FEWEST_CHARACTERS:
            continue
        data = await asker.score(problem, answer)
        if not data:
            break
        found += filter(None, (scored(data, answer),))
    return tuple(found)


def scored(data: bytes, answer: str) -> Scored | None:
    """The score of an answer in a response with `prompt_logprobs`; None if its tokens are not there.

    The first and the last token are left out: a template may join them with its own text.
    """
    try:
        places = list(_places(json_text.load(data)))
    except (JsonError, KeyError, TypeError, ValueError):
        return None
    text = "".join(token for token, _, _ in places)
    start = text.rfind(answer)
    if start < 0:
        return None
    worst, at = Scored(answer=answer), 0
    for token, likeliest, behind in places:
        inside = start < at and at + len(token) < start + len(answer)
        if inside and behind > worst.behind:
            worst = Scored(answer=answer, behind=behind, token=token, likeliest=likeliest)
        at += len(token)
    return worst


def _places(answer: JsonValue) -> Iterator[tuple[str, str, float]]:
    """Each token of a prompt, the likeliest in its place, and the nats between; vLLM names the own one first."""
    told = answer["prompt_logprobs"] if isinstance(answer, dict) else None
    for place in told if isinstance(told, list) else []:
        if isinstance(place, dict) and place:
            own, *others = [_entry(each) for each in place.values()]
            likeliest = max((own, *others), key=lambda each: each[1])
            yield own[0], likeliest[0], likeliest[1] - own[1]


def _entry(value: JsonValue) -> tuple[str, float]:
    if not isinstance(value, Mapping):
        raise TypeError
    return str(value["decoded_token"]), float(str(value["logprob"]))
