"""Faults of what is said: answers that are cut, spoilt, or mixed with those of others."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace
from itertools import cycle, islice

from healthcheck.simulator.memory import Memory
from healthcheck.simulator.request import Request
from healthcheck.simulator.spoken import Spoken, cut, ended

_CAP = 100
_LOOP = " and then on along the same road"
_SOUND_TOKENS = 20
_STRUCK_SHARE = 1 / 10


def capped(spoken: Spoken, _: Request) -> Spoken:
    return cut(spoken, _CAP, "length") if spoken.made > _CAP else spoken


def never_cut(spoken: Spoken, _: Request) -> Spoken:
    return replace(spoken, finish="stop")


def only_reasoning(spoken: Spoken, _: Request) -> Spoken:
    return replace(spoken, tokens=(), reasoning=spoken.reasoning + spoken.tokens)


def nothing(spoken: Spoken, _: Request) -> Spoken:
    return replace(spoken, tokens=(), finish="stop")


def runs_on(spoken: Spoken, _: Request) -> Spoken:
    return replace(spoken, tokens=(*spoken.tokens[:-1], "<|im_end|>")) if spoken.finish == "stop" else spoken


def less_the_prompt(spoken: Spoken, request: Request) -> Spoken:
    """max_tokens is the length of prompt and completion, and neither the counts nor the end tell."""
    room = max(1, request.limit - request.prompt_tokens)
    if spoken.made <= room:
        return spoken
    return replace(cut(spoken, room, "stop"), counted=spoken.made)


def exclaims(spoken: Spoken, request: Request) -> Spoken:
    """What logits that are no numbers become: the token of number 0, for ever."""
    tokens = ("!",) * (request.limit + 1)
    garbage = replace(spoken, reasoning=(), tokens=tokens, logprobs=(0.0,) * len(tokens))
    return ended(garbage, request)


def loops(spoken: Spoken, request: Request) -> Spoken:
    """Some tens of tokens as they should be, then one phrase until the limit."""
    own = (*spoken.reasoning, *spoken.tokens)
    sound = _SOUND_TOKENS + hashlib.blake2b("".join(own).encode(), digest_size=1).digest()[0] % _SOUND_TOKENS
    thoughts, text = spoken.reasoning[:sound], spoken.tokens[: max(0, sound - len(spoken.reasoning))]
    phrase = request.tokenizer.pieces(_LOOP)
    loop = tuple(islice(cycle(phrase), request.limit + 1))
    inside = len(spoken.reasoning) > sound  # a loop among the thoughts never comes to the answer
    looping = replace(
        spoken,
        reasoning=thoughts + loop if inside else thoughts,
        tokens=() if inside else text + loop,
        logprobs=(*spoken.logprobs[: len(thoughts) + len(text)], *(-0.01 for _ in loop)),
    )
    return ended(looping, request)


def anothers(spoken: Spoken, memory: Memory) -> Spoken:
    """The text of another stream."""
    other = memory.neighbour(spoken)
    return replace(spoken, tokens=other.tokens, reasoning=other.reasoning) if other else spoken


def mixed(spoken: Spoken, memory: Memory) -> Spoken:
    """Single tokens of another stream slip in."""
    other = memory.neighbour(spoken)
    source = (*other.reasoning, *other.tokens) if other else ()

    def slipped_in(tokens: list[str]) -> None:
        if source and tokens:
            tokens.insert(memory.dice.randint(1, len(tokens)), memory.dice.choice(source))

    return _struck(spoken, slipped_in) if other else spoken


def swapped(spoken: Spoken, memory: Memory) -> Spoken:
    """Neighbouring tokens change places."""

    def swap(tokens: list[str]) -> None:
        if len(tokens) > 1:
            place = memory.dice.randrange(len(tokens) - 1)
            tokens[place : place + 2] = tokens[place + 1], tokens[place]

    return _struck(spoken, swap) if memory.neighbour(spoken) else spoken


def _struck(spoken: Spoken, strike: Callable[[list[str]], None]) -> Spoken:
    """A few strikes at thoughts and text each; usage counts what the model made."""
    struck = []
    for tokens in (spoken.reasoning, spoken.tokens):
        changed = list(tokens)
        for _ in range(max(1, int(len(tokens) * _STRUCK_SHARE))):
            strike(changed)
        struck.append(tuple(changed))
    reasoning, text = struck
    return replace(spoken, reasoning=reasoning, tokens=text, counted=spoken.made)
