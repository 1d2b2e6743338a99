"""Faults of generations: completions that are cut, corrupted, or mixed with those of other requests."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace
from itertools import cycle, islice

from healthcheck.extensions.simulator.faults import ServerState
from healthcheck.extensions.simulator.generation import Generation, limited, truncated
from healthcheck.extensions.simulator.request import Request

_CAP = 100
_LOOP = " and then on along the same road"
_SOUND_TOKENS = 20
_STRUCK_SHARE = 1 / 10


def capped(generation: Generation, _: Request) -> Generation:
    return truncated(generation, _CAP, "length") if generation.length > _CAP else generation


def never_cut(generation: Generation, _: Request) -> Generation:
    return replace(generation, finish="stop")


def always_cut(generation: Generation, _: Request) -> Generation:
    return replace(generation, finish="length")


def only_reasoning(generation: Generation, _: Request) -> Generation:
    return replace(generation, tokens=(), reasoning=generation.reasoning + generation.tokens)


def nothing(generation: Generation, _: Request) -> Generation:
    return replace(generation, tokens=(), finish="stop")


def runs_on(generation: Generation, _: Request) -> Generation:
    if generation.finish != "stop":
        return generation
    return replace(generation, tokens=(*generation.tokens[:-1], "<|im_end|>"))


def less_the_prompt(generation: Generation, request: Request) -> Generation:
    """Limit prompt and completion together to max_tokens; neither usage nor finish_reason shows it."""
    room = max(1, request.limit - request.prompt_tokens)
    if generation.length <= room:
        return generation
    return replace(truncated(generation, room, "stop"), counted=generation.length)


def undecoded(generation: Generation, _: Request) -> Generation:
    return replace(generation, tokens=tuple(token.replace(" ", "▁") for token in generation.tokens))


def exclaims(generation: Generation, request: Request) -> Generation:
    """The result of NaN logits: token 0, repeated without end."""
    tokens = ("!",) * (request.limit + 1)
    garbage = replace(generation, reasoning=(), tokens=tokens, logprobs=(0.0,) * len(tokens))
    return limited(garbage, request)


def loops(generation: Generation, request: Request) -> Generation:
    """A few dozen healthy tokens, then one phrase up to the limit."""
    own = (*generation.reasoning, *generation.tokens)
    sound = (
        _SOUND_TOKENS
        + hashlib.blake2b("".join(own).encode(), digest_size=1).digest()[0] % _SOUND_TOKENS
    )
    thoughts, text = (
        generation.reasoning[:sound],
        generation.tokens[: max(0, sound - len(generation.reasoning))],
    )
    phrase = request.tokenizer.pieces(_LOOP)
    loop = tuple(islice(cycle(phrase), request.limit + 1))
    inside = len(generation.reasoning) > sound  # a loop in the reasoning never reaches the answer
    looping = replace(
        generation,
        reasoning=thoughts + loop if inside else thoughts,
        tokens=() if inside else text + loop,
        logprobs=(*generation.logprobs[: len(thoughts) + len(text)], *(-0.01 for _ in loop)),
    )
    return limited(looping, request)


def anothers(generation: Generation, state: ServerState) -> Generation:
    """The text of another generation in progress."""
    other = state.neighbour(generation)
    return (
        replace(generation, tokens=other.tokens, reasoning=other.reasoning) if other else generation
    )


def mixed(generation: Generation, state: ServerState) -> Generation:
    """Insert single tokens of another generation."""
    other = state.neighbour(generation)
    source = (*other.reasoning, *other.tokens) if other else ()

    def slipped_in(tokens: list[str]) -> None:
        if source and tokens:
            tokens.insert(state.random.randint(1, len(tokens)), state.random.choice(source))

    return _struck(generation, slipped_in) if other else generation


def swapped(generation: Generation, state: ServerState) -> Generation:
    """Swap neighbouring tokens while others are in progress."""
    return swapped_alone(generation, state) if state.neighbour(generation) else generation


def swapped_alone(generation: Generation, state: ServerState) -> Generation:
    """Swap neighbouring tokens."""

    def swap(tokens: list[str]) -> None:
        if len(tokens) > 1:
            place = state.random.randrange(len(tokens) - 1)
            tokens[place : place + 2] = tokens[place + 1], tokens[place]

    return _struck(generation, swap)


def repeated(generation: Generation, state: ServerState) -> Generation:
    """Repeat single tokens."""

    def repeat(tokens: list[str]) -> None:
        if tokens:
            place = state.random.randrange(len(tokens))
            tokens.insert(place, tokens[place])

    return _struck(generation, repeat)


def _struck(generation: Generation, strike: Callable[[list[str]], None]) -> Generation:
    """Apply `strike` several times to reasoning and to text; usage counts the original tokens."""
    struck = []
    for tokens in (generation.reasoning, generation.tokens):
        changed = list(tokens)
        for _ in range(max(1, int(len(tokens) * _STRUCK_SHARE))):
            strike(changed)
        struck.append(tuple(changed))
    reasoning, text = struck
    return replace(generation, reasoning=reasoning, tokens=text, counted=generation.length)
