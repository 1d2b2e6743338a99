"""The simulated model: converts messages and sampling parameters to tokens, deterministic from a seed."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate

from healthcheck.extensions.simulator import manners
from healthcheck.extensions.simulator.behaviour import Behaviour
from healthcheck.extensions.simulator.draws import WORDS, nonsense, uniform
from healthcheck.extensions.simulator.generation import Generation, limited
from healthcheck.extensions.simulator.manners import INCAPABLE, TOKENWISE, Manner, Part, Turn
from healthcheck.extensions.simulator.request import Request, last_user_text, text_of
from healthcheck.extensions.simulator.solvers import SOLVERS, Query

_CODE_WORD = re.compile(r"code word is:? (\w+)")
_COPY = re.compile(r"Repeat this line exactly[^:\n]*:\s*([^\n]+)")
_REASONING = "The user asks, so think first."
_DIVERGING_SHARE = 0.5
_OPEN = -math.log(len(WORDS))
_WITHIN_A_WORD = -0.01
_CERTAIN = math.log(1 - manners.change(1.0))
_CHANGED = math.log(manners.change(1.0) / len(WORDS))
_LEAST_CHANGE = 1e-9
_Tokens = list[tuple[str, float]]
"""Tokens with their log-probabilities at temperature 1."""


class SimulatedModel:
    """Generates completions. Its only state is the number of times each prompt came, so that samples differ.

    Args:
        behaviour: its knowledge and its sampling.
        apart: whether reasoning has its own field or is part of the text, in <think>…</think>.
    """

    def __init__(self, behaviour: Behaviour, *, apart: bool = False) -> None:
        self._behaviour = behaviour
        self._apart = apart
        self._times: Counter[str] = Counter()
        self._question = lru_cache(maxsize=4096)(self._find_question)

    def generate(self, request: Request) -> Generation:
        """Generate the completion of one chat request."""
        temperature = request.number_of("temperature", 1.0)
        prompt = json.dumps([dict(message) for message in request.messages], sort_keys=True)
        sample = 0
        if temperature > 0:
            sample = self._times[prompt]
            self._times[prompt] += 1
        draw = f"{self._behaviour.seed}/{prompt}/{sample}"
        thoughts = self._thoughts(request, draw)
        tokens = self._tokens(self._answer(request, prompt, temperature, sample))
        room = request.limit + 1 - len(thoughts)
        if (request.body or {}).get("ignore_eos") and len(tokens) < room:
            tokens += self._more(draw + "/on", room - len(tokens))
        said = self._sampled([*thoughts, *tokens][: request.limit + 1], temperature, draw)
        said = self._diverged(said, request, temperature, draw)
        tail = 1e-4 * uniform(prompt)  # any change of the prompt changes the log-probabilities
        generation = Generation(
            reasoning=tuple(text for text, _ in said[: len(thoughts)]) if self._apart else (),
            tokens=tuple(text for text, _ in (said[len(thoughts) :] if self._apart else said)),
            logprobs=tuple(logprob - tail for _, logprob in said),
            finish="stop",
            prompt_tokens=request.prompt_tokens,
        )
        return limited(generation, request)

    def _thoughts(self, request: Request, draw: str) -> _Tokens:
        parts = manners.thoughts(self._behaviour.manner, draw, 4 * request.limit)
        if self._apart:
            return self._tokens(parts or (Part(_REASONING, certain=True),))
        marks = (Part("<think>\n", certain=True), *parts, Part("\n</think>\n\n", certain=True))
        return self._tokens(marks) if parts else []

    def _answer(
        self, request: Request, prompt: str, temperature: float, sample: int
    ) -> tuple[Part, ...]:
        behaviour = self._behaviour
        likeliest = behaviour.manner in {Manner.SURE, Manner.ECHOES}
        draw = f"{behaviour.seed}/{prompt}/{0 if likeliest else sample}"
        last = last_user_text(request.messages)
        question = self._question(last) if behaviour.answers else ""
        able = behaviour.competent and behaviour.manner not in INCAPABLE
        told = [w for m in request.messages for w in _CODE_WORD.findall(text_of(m))] if able else []
        copied = _COPY.search(last) if able else None
        word = told[-1] if told and "code word" in last else ""
        result = self._result(question, sample) if question else ""
        turn = Turn(
            draw=draw, temperature=temperature, last=last, word=word, result=result,
            copy=copied.group(1).strip() if copied and not question else "",
            plain=self._plain(last, draw, word=word, result=result),
        )  # fmt: skip
        return manners.answer(behaviour.manner, turn)

    def _plain(self, last: str, draw: str, *, word: str, result: str) -> tuple[Part, ...]:
        length = self._behaviour.answer_tokens
        if result:
            filler = nonsense(draw, max(0, length - 4))
            return Part(filler), Part(f". The answer is {result}.", certain=True)
        if word:
            return Part(f"The code word is {word}. ", certain=True), Part(nonsense(draw, 8) + ".")
        foreign = "".join(sorted({char for char in last if ord(char) > 0x2000}))
        count = length // 2 + int(uniform(draw + "/n") * length)
        return Part(foreign + " " if foreign else "", certain=True), Part(
            nonsense(draw, count) + "."
        )

    def _find_question(self, text: str) -> str:
        if text in self._behaviour.answers:
            return text
        return max((q for q in self._behaviour.answers if q in text), key=len, default="")

    def _result(self, question: str, sample: int) -> str:
        """The answer to a problem, right with the probability of its tier.

        With correlation r, each sample takes the problem's shared draw with probability sqrt(r), so that any two
        samples of one problem correlate by r.
        """
        behaviour = self._behaviour
        right = behaviour.answers[question]
        if behaviour.solver:
            tier = behaviour.labels[question]
            asked = Query(
                question=question, right=right, tier=tier, sample=sample, seed=behaviour.seed
            )
            return SOLVERS[behaviour.solver](asked)
        accuracy = behaviour.accuracy.get(behaviour.labels.get(question, "medium"), 0.7)
        key = f"{behaviour.seed}/{question}"
        shared = uniform(f"{key}/{sample}/shared") < math.sqrt(behaviour.correlation)
        dice = key if shared else f"{key}/{sample}"
        return right if uniform(dice + "/right") < accuracy else _wrong(right, dice)

    def _tokens(self, parts: Sequence[Part]) -> _Tokens:
        pieces = self._behaviour.tokenizer.pieces("".join(part.text for part in parts))
        ends = list(accumulate(len(part.text) for part in parts))
        tokens: _Tokens = []
        place = at = 0
        for piece in pieces:
            while at < len(ends) - 1 and place >= ends[at]:
                at += 1
            tokens.append((piece, _logprob(piece, parts[at], first=not tokens)))
            place += len(piece)
        return tokens

    def _more(self, key: str, count: int) -> _Tokens:
        """`count` more tokens of a model that must not stop."""
        words = count
        tokens: _Tokens = []
        while len(tokens) < count:
            tokens = self._tokens((Part(manners.more(self._behaviour.manner, key, words)),))
            words *= 2
        return tokens[:count]

    def _sampled(self, tokens: _Tokens, temperature: float, draw: str) -> _Tokens:
        """The tokens with some certain ones replaced, depending on the temperature."""
        rate = manners.change(temperature)
        if self._behaviour.manner not in TOKENWISE or rate < _LEAST_CHANGE:
            return tokens
        key = f"{draw}/{temperature}"
        return [
            (" " + nonsense(f"{key}/{place}/other", 1), _CHANGED)
            if token[1] == _CERTAIN and uniform(f"{key}/{place}") < rate
            else token
            for place, token in enumerate(tokens)
        ]

    def _diverged(
        self, tokens: _Tokens, request: Request, temperature: float, draw: str
    ) -> _Tokens:
        """The tokens with other words from some place on, as from kernels that depend on the batch."""
        key = f"{draw}/beside/{request.concurrent}"
        variant = (
            self._behaviour.manner is Manner.BATCH_VARIANT
            and temperature == 0
            and request.concurrent > 0
        )
        if not variant or not tokens or uniform(key) >= _DIVERGING_SHARE:
            return tokens
        place = int(uniform(key + "/place") * len(tokens))
        other = self._more(key, len(tokens) - place + 1)
        return tokens[:place] + other[other[0][0] == tokens[place][0] :][: len(tokens) - place]


def _logprob(piece: str, part: Part, *, first: bool) -> float:
    if part.certain:
        return _CERTAIN
    return _OPEN if first or piece[:1].isspace() or not piece.isascii() else _WITHIN_A_WORD


def _wrong(right: str, dice: str) -> str:
    offset = 1 + int(uniform(dice + "/wrong") * 9)
    try:
        return str(int(right) + offset)
    except ValueError:
        return f"{right}{offset}"
