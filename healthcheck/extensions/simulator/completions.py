"""/v1/completions and /tokenize of the simulated endpoint, with honest log-probabilities.

The model differs from that of the chat: it continues token ids, and every earlier token changes the result.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from healthcheck.core.records import JsonValue
from healthcheck.extensions.simulator.behaviour import Behaviour
from healthcheck.extensions.simulator.dialects import head
from healthcheck.extensions.simulator.draws import WORDS
from healthcheck.extensions.simulator.faults import Fault, Reply, refusal, reply
from healthcheck.extensions.simulator.next_token import Choice, Step, Vocabulary, logits, logprobs
from healthcheck.extensions.simulator.request import Request

COMPLETIONS_PATH, TOKENIZE_PATH = "/v1/completions", "/tokenize"
MOST_LOGPROBS = 20
BLOCK = 16
_MANY_TOKENS = 64
_DEFAULT_TOKENS = 16
_MOST_BLOCKS = 200_000


@dataclass(slots=True)
class _Flight:
    """A prompt in progress, its place among them, and the largest number of concurrent ones."""

    many: bool
    row: int = 0
    batch: int = 0
    decoding: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Token:
    token: int
    chosen: float
    top: tuple[tuple[int, float], ...]


@dataclass(slots=True)
class Completions:
    """The model with its prefix cache, and its requests in progress."""

    behaviour: Behaviour
    faults: Sequence[Fault]
    name: str
    _vocabulary: Vocabulary = field(default_factory=Vocabulary)
    _blocks: dict[int, None] = field(default_factory=dict)
    _flights: list[_Flight] = field(default_factory=list)
    _requests: int = 0

    async def answer(self, request: Request, gone: Callable[[], bool]) -> Reply:
        """The whole answer to a request at one of the two paths; a stream is sent in one piece.

        `gone` tells whether the client has left, which ends a completion.
        """
        body = request.body if request.method == "POST" else None
        if body is None or body.get("model", self.name) != self.name:
            return refusal(
                404 if body else 400, "The model does not exist." if body else "JSON is expected"
            )
        if request.path == TOKENIZE_PATH:
            return self._tokenized(request)
        problem = self._problem(request)
        return refusal(400, problem) if problem else await self._completed(request, gone)

    def _tokenized(self, request: Request) -> Reply:
        prompt = (request.body or {}).get("prompt")
        if not isinstance(prompt, str):
            return refusal(400, "prompt must be a text")
        ids = self._vocabulary.ids(request.tokenizer.pieces(prompt))
        return reply(
            200, {"count": len(ids), "max_model_len": self.behaviour.context_tokens, "tokens": ids}
        )

    def _problem(self, request: Request) -> str:
        """Why a request is refused, in vLLM's words, or ""."""
        most, limit = int(request.number_of("logprobs", 0)), self.behaviour.context_tokens
        if most > MOST_LOGPROBS:
            return f"Requested sample logprobs of {most}, which is greater than max allowed: {MOST_LOGPROBS}"
        prompts = self._prompts(request)
        if not prompts or not all(prompts):
            return "prompt must be a text, token ids, or a list of them"
        wanted = max(map(len, prompts)) + int(request.number_of("max_tokens", _DEFAULT_TOKENS))
        return (
            f"This model's maximum context length is {limit} tokens, not {wanted}."
            if wanted > limit
            else ""
        )

    def _prompts(self, request: Request) -> list[list[int]]:
        prompt = (request.body or {}).get("prompt")
        if isinstance(prompt, str) or (
            isinstance(prompt, list) and all(isinstance(each, int) for each in prompt)
        ):
            prompt = [prompt]
        return [self._ids(each, request) for each in prompt] if isinstance(prompt, list) else []

    def _ids(self, prompt: JsonValue, request: Request) -> list[int]:
        if isinstance(prompt, str):
            return self._vocabulary.ids(request.tokenizer.pieces(prompt))
        return (
            [each for each in prompt if isinstance(each, int)] if isinstance(prompt, list) else []
        )

    async def _completed(self, request: Request, gone: Callable[[], bool]) -> Reply:
        prompts, tokens = (
            self._prompts(request),
            int(request.number_of("max_tokens", _DEFAULT_TOKENS)),
        )
        streamed = request.streamed and all(fault.streams for fault in self.faults)
        self._requests += 1
        number, replicas = (
            self._requests,
            max([1, *(fault.replicas_of_a_seed for fault in self.faults)]),
        )
        with self._serving(len(prompts), tokens) as flights:
            await asyncio.sleep(
                max([self.behaviour.first_token_s, *(fault.pause_s for fault in self.faults)])
            )
            for _ in range(tokens if self._token_s() else 0):
                await asyncio.sleep(0 if gone() else self._token_s())
            answers = [
                self._continued(
                    request, ids, tokens, flight, number, draw=f"{number // replicas}/{place}"
                )
                for place, (ids, flight) in enumerate(zip(prompts, flights, strict=True))
            ]
        usage = {
            "prompt_tokens": sum(map(len, prompts)),
            "completion_tokens": tokens * len(prompts),
        }
        common = head("text_completion", "cmpl-simulated", self.name)
        whole = {**common, "usage": {**usage, "total_tokens": sum(usage.values())}}
        if not streamed:
            choices = [self._choice(request, index, said) for index, said in enumerate(answers)]
            return reply(200, {**whole, "choices": choices})
        events: list[object] = [
            {**common, "choices": [self._choice(request, index, [each])]}
            for index, said in enumerate(answers)
            for each in said
        ]
        lines = [*(json.dumps(event) for event in events), "[DONE]"]
        data = "".join(f"data: {line}\n\n" for line in lines).encode()
        return Reply(
            status=200, body=data, headers={"content-type": "text/event-stream; charset=utf-8"}
        )

    @contextmanager
    def _serving(self, prompts: int, tokens: int) -> Iterator[Sequence[_Flight]]:
        """Register a request for its duration; all registered requests count each other."""
        row = len(self._flights)
        own = [_Flight(many=tokens > _MANY_TOKENS, row=row + place) for place in range(prompts)]
        self._flights += own
        short = sum(not flight.many for flight in self._flights)
        for flight in self._flights:
            flight.batch = max(flight.batch, short)
            flight.decoding = max(flight.decoding, len(self._flights) - short)
        try:
            yield own
        finally:
            self._flights = [
                flight for flight in self._flights if all(flight is not each for each in own)
            ]

    def _token_s(self) -> float:
        return max([self.behaviour.token_s, *(fault.step_s for fault in self.faults)])

    def _continued(
        self,
        request: Request,
        prompt: list[int],
        tokens: int,
        flight: _Flight,
        number: int,
        *,
        draw: str,
    ) -> list[_Token]:
        """The completion of one prompt, token by token."""
        body, ids, said = request.body or {}, [*prompt], list[_Token]()
        cached = self._cached(prompt, str(body.get("cache_salt", "")))
        for decoded in range(tokens):
            step = Step(
                ids=ids, decoded=decoded, cached=cached, batch=flight.batch, decoding=flight.decoding,
                streamed=request.streamed, request=number, row=flight.row,
            )  # fmt: skip
            values: Sequence[float] = logits(ids, str(self.behaviour.seed))
            for fault in self.faults:
                values = fault.on_logits(values, step) if fault.on_logits else values
            choice = Choice(
                told=logprobs(values),
                logits=values,
                temperature=request.number_of("temperature", 1.0),
            )
            for fault in self.faults:
                choice = fault.on_choice(choice, step) if fault.on_choice else choice
            token, likely = choice.token(f"{self.behaviour.seed}/{draw}/{decoded}"), choice.told
            ranked = sorted(range(len(WORDS)), key=likely.__getitem__, reverse=True)
            named = dict.fromkeys((*ranked[: int(request.number_of("logprobs", 0))], token))
            top = tuple((each, likely[each]) for each in named)
            said.append(_Token(token=token, chosen=likely[token], top=top))
            ids.append(token)
        return said

    def _cached(self, prompt: Sequence[int], salt: str) -> int:
        """The number of cached prompt tokens with this salt, in whole blocks; then caches them all."""
        found, chain, known = 0, hash(salt), True
        for start in range(0, len(prompt) - BLOCK + 1, BLOCK):
            chain = hash((chain, *prompt[start : start + BLOCK]))
            known = known and chain in self._blocks
            found += BLOCK * known
            self._blocks[chain] = None
        while len(self._blocks) > _MOST_BLOCKS:
            del self._blocks[next(iter(self._blocks))]
        return min(found, len(prompt) - 1)

    def _choice(self, request: Request, index: int, said: Sequence[_Token]) -> dict[str, JsonValue]:
        body, shown = request.body or {}, None
        named = (
            "token_id:{}".format
            if body.get("return_tokens_as_token_ids")
            else self._vocabulary.text
        )
        if request.number_of("logprobs", 0):
            shown = {
                "tokens": [named(each.token) for each in said],
                "token_logprobs": [each.chosen for each in said],
                "top_logprobs": [
                    {named(token): value for token, value in each.top} for each in said
                ],
            }
        text = "".join(self._vocabulary.text(each.token) for each in said)
        return {"index": index, "text": text, "logprobs": shown, "finish_reason": "length"}  # type: ignore[dict-item]
