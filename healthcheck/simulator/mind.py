"""The simulated model: from messages and sampling parameters to tokens, deterministic from a seed."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache

from healthcheck.records import JsonValue
from healthcheck.simulator.behaviour import Behaviour
from healthcheck.simulator.messages import last_user_text, text_of
from healthcheck.simulator.request import Request
from healthcheck.simulator.solvers import SOLVERS, Asked
from healthcheck.simulator.tokens import Tokenizer

_NONSENSE = (
    "river stone lamp quiet seven walks under bright salt paper winter glass orange thread never slow metal cloud "
    "garden after silver field moves north open copper sings below every wind round table small letter green far"
)
_WORDS = tuple(_NONSENSE.split())
_CODE_WORD = re.compile(r"code word is:? (\w+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Spoken:
    """What the model says to one request, in tokens.

    Attributes:
        finish: "stop" or "length".
        certainty: a stand-in for log-probabilities: a number that any change of the input changes.
    """

    tokens: tuple[str, ...]
    finish: str
    prompt_tokens: int
    reasoning: tuple[str, ...] = ()
    certainty: float = 0.0

    @property
    def text(self) -> str:
        return "".join(self.tokens)


class Mind:
    """Answers requests; its one piece of state is how often it was asked each thing."""

    def __init__(self, behaviour: Behaviour) -> None:
        self._behaviour = behaviour
        self._asked: Counter[str] = Counter()
        self._question = lru_cache(maxsize=4096)(self._find_question)

    def speak(self, request: Request) -> Spoken:
        """Answer one chat request."""
        temperature = request.number_of("temperature", 1.0)
        heard = json.dumps([dict(message) for message in request.messages], sort_keys=True)
        sample = 0
        if temperature > 0:
            sample = self._asked[heard]
            self._asked[heard] += 1
        draw = f"{self._behaviour.seed}/{heard}/{sample}"
        tokenizer = self._behaviour.tokenizer
        tokens = tokenizer.pieces(self._text(request, draw, sample))
        body, limit = request.body or {}, request.limit
        if body.get("ignore_eos"):
            tokens += _more(tokenizer, draw + "/on", limit - len(tokens))
        finish = "length" if len(tokens) > limit or body.get("ignore_eos") else "stop"
        tokens, stopped = _stop(tokens[:limit], body.get("stop"))
        return Spoken(
            tokens=tokens,
            finish="stop" if stopped else finish,
            prompt_tokens=request.prompt_tokens,
            certainty=-_uniform(heard),
        )

    def _text(self, request: Request, draw: str, sample: int) -> str:
        last = last_user_text(request.messages)
        question = self._question(last) if self._behaviour.answers else ""
        if question:
            return self._solution(question, draw, sample)
        if self._behaviour.competent:
            words = [w for m in request.messages for w in _CODE_WORD.findall(text_of(m))]
            if words and "code word" in last:
                return f"The code word is {words[-1]}. " + "".join(_nonsense(draw, 8)).strip() + "."
        foreign = "".join(sorted({char for char in last if ord(char) > 0x2000}))
        length = self._behaviour.answer_tokens // 2 + int(_uniform(draw + "/n") * self._behaviour.answer_tokens)
        return " ".join(filter(None, (foreign, "".join(_nonsense(draw, length)).strip() + ".")))

    def _find_question(self, text: str) -> str:
        if text in self._behaviour.answers:
            return text
        return max((q for q in self._behaviour.answers if q in text), key=len, default="")

    def _solution(self, question: str, draw: str, sample: int) -> str:
        """A worked answer; right as often as the tier's accuracy says.

        With correlation r, each sample takes the problem's shared draw with probability sqrt(r), so that any two
        samples of one problem correlate by r.
        """
        behaviour = self._behaviour
        right = behaviour.answers[question]
        filler = _nonsense(draw, max(0, behaviour.answer_tokens - 4))
        if behaviour.solver:
            tier = behaviour.labels[question]
            asked = Asked(question=question, right=right, tier=tier, sample=sample, seed=behaviour.seed)
            return f"{''.join(filler).strip()}. The answer is {SOLVERS[behaviour.solver](asked)}."
        accuracy = behaviour.accuracy.get(behaviour.labels.get(question, "medium"), 0.7)
        key = f"{behaviour.seed}/{question}"
        shared = _uniform(f"{key}/{sample}/shared") < math.sqrt(behaviour.correlation)
        dice = key if shared else f"{key}/{sample}"
        answer = right if _uniform(dice + "/right") < accuracy else _wrong(right, dice)
        return f"{''.join(filler).strip()}. The answer is {answer}."


def _more(tokenizer: Tokenizer, key: str, count: int) -> tuple[str, ...]:
    """At least so many tokens of nonsense."""
    words = max(0, count)
    pieces: tuple[str, ...] = ()
    while words and len(pieces) < count:
        pieces = tokenizer.pieces("".join(_nonsense(key, words)))
        words *= 2
    return pieces


def _stop(tokens: tuple[str, ...], stop: JsonValue) -> tuple[tuple[str, ...], bool]:
    """The tokens before the first stop string; the last one may be cut."""
    words = [stop] if isinstance(stop, str) else stop if isinstance(stop, list) else []
    text = "".join(tokens)
    ends = [text.find(word) for word in words if isinstance(word, str) and word]
    if all(end < 0 for end in ends):
        return tokens, False
    kept, left = [], min(end for end in ends if end >= 0)
    for token in tokens:
        if left <= 0:
            break
        kept.append(token[:left])
        left -= len(token)
    return tuple(kept), True


def _wrong(right: str, dice: str) -> str:
    offset = 1 + int(_uniform(dice + "/wrong") * 9)
    try:
        return str(int(right) + offset)
    except ValueError:
        return f"{right}{offset}"


def _uniform(key: str) -> float:
    return int.from_bytes(hashlib.blake2b(key.encode(), digest_size=7).digest(), "big") / 2**56


def _nonsense(key: str, count: int) -> tuple[str, ...]:
    digest = hashlib.shake_128(key.encode()).digest(count)
    return tuple(" " + _WORDS[byte % len(_WORDS)] for byte in digest)
