"""Requests readings from a server, after finding out which form of request it supports."""

from __future__ import annotations

import asyncio
import itertools
import secrets
from collections.abc import Mapping, Sequence

from healthcheck import contract
from healthcheck.core.records import JsonValue
from healthcheck.errors import Blocked
from healthcheck.extensions.numerics.dialect import (
    COMPLETIONS_PATH,
    MOST_LOGPROBS,
    NEUTRAL,
    Dialect,
    prompt_tokens,
    read,
)
from healthcheck.extensions.numerics.prompts import BLOCKS
from healthcheck.extensions.numerics.records import (
    NumericsSettings,
    Prompt,
    Reading,
    Server,
    TokenIds,
)
from healthcheck.extensions.numerics.reproduction import Shell
from healthcheck.stages.probe.records import ProbeSettings
from healthcheck.stages.probe.run.server import describe
from healthcheck.system import json_text
from healthcheck.system.json_text import JsonError
from healthcheck.text.messages import msg
from healthcheck.wire.chat import request_body, user
from healthcheck.wire.many import Connections, Waits
from healthcheck.wire.response import TooLargeError

WAITS = Waits(connect_s=5.0, silence_s=120.0, answer_s=300.0)
_TOKENIZE = "/tokenize"
TRIAL = msg("The quick brown fox jumps over the lazy")
_MOST_IDS = 2**17


class Asker:
    """Sends requests to one server. Every request has its own cache salt unless it names one."""

    def __init__(self, server: Connections, dialect: Dialect, url: str) -> None:
        self.dialect = dialect
        self.shell = Shell(url, dialect)
        self.requests = 0
        self._server = server
        run = secrets.token_hex(8)  # another run against this server has other salts
        self._salts = (f"{run}-{number}" for number in itertools.count())

    async def read(
        self,
        prompt: Prompt,
        *,
        tokens: int,
        salt: str = "",
        sampling: Mapping[str, JsonValue] | None = None,
    ) -> Reading:
        """Send one request; an error on its way is the reading's error."""
        body = self.dialect.body(
            [prompt], tokens=tokens, salt=salt or self.salt(), sampling=sampling
        )
        return (await self._post(COMPLETIONS_PATH, body))[0][0]

    async def read_together(
        self,
        prompts: Sequence[Prompt],
        *,
        tokens: int,
        sampling: Mapping[str, JsonValue] | None = None,
    ) -> Sequence[Reading]:
        """The readings of prompts that the server gets at once: in one request if they share no block."""
        begins = [prompt.ids[: BLOCKS[0]] or prompt.text[: BLOCKS[0]] for prompt in prompts]
        copies = [begins[:place].count(begin) for place, begin in enumerate(begins)]
        groups: list[list[Prompt]] = [[] for _ in {*copies}]
        for prompt, copy in zip(prompts, copies, strict=True):
            groups[copy].append(prompt)
        read = await asyncio.gather(*(self._read_list(group, tokens, sampling) for group in groups))
        left = [iter(readings) for readings in read]
        return [next(left[copy]) for copy in copies]

    async def read_beside(
        self,
        prompts: Sequence[Prompt],
        *,
        tokens: int,
        sampling: Mapping[str, JsonValue] | None = None,
    ) -> Sequence[Reading]:
        """The readings of prompts that are sent at once, by a request each."""
        return await asyncio.gather(
            *(self.read(each, tokens=tokens, sampling=sampling) for each in prompts)
        )

    async def _read_list(
        self, prompts: Sequence[Prompt], tokens: int, sampling: Mapping[str, JsonValue] | None
    ) -> Sequence[Reading]:
        """The readings of different prompts, by a request each if the server does not answer them in one."""
        body = self.dialect.body(prompts, tokens=tokens, salt=self.salt(), sampling=sampling)
        readings, _ = await self._post(COMPLETIONS_PATH, body)
        if len(readings) == len(prompts):
            return readings
        return await self.read_beside(prompts, tokens=tokens, sampling=sampling)

    async def read_stream(self, prompt: Prompt, *, tokens: int) -> Reading:
        """Like `read`, answered as a stream."""
        body = self.dialect.body([prompt], tokens=tokens, salt=self.salt()) | {"stream": True}
        return (await self._post(COMPLETIONS_PATH, body))[0][0]

    async def read_chat(self, prompt: Prompt, *, tokens: int) -> tuple[Reading, TokenIds]:
        """Send the text of a prompt as a message; also returns the server's tokens, () if unknown."""
        body = self.dialect.chat_body(prompt, tokens=tokens, salt=self.salt())
        readings, data = await self._post(contract.CHAT_PATH, body)
        return readings[0], prompt_tokens(data)

    async def answer(self, problem: Prompt, *, tokens: int) -> str:
        """The text of a greedy answer to a message, streamed; "" if none came, or thoughts as well.

        A penalty for repetition that generation_config.json asks for would pass over the likeliest token.
        """
        asked = request_body(
            [user(problem.text)], model=self.dialect.model, max_tokens=tokens, temperature=0.0
        )
        body = asked | dict(self.dialect.neutral)
        self.requests += 1
        try:
            completion = (
                await self._server.stream(contract.CHAT_PATH, json_text.dump_line(body))
            ).reply.completion
        except (OSError, TooLargeError):
            return ""
        return completion.text if completion and not completion.reasoning else ""

    async def score(self, problem: Prompt, answer: str) -> bytes:
        """The response with the log-probabilities of a message and an answer, or of the message alone without one.

        b"" if the server gives none.
        """
        turns: list[JsonValue] = [{"role": "user", "content": problem.text}]
        turns += [{"role": "assistant", "content": answer}] if answer else []
        body: dict[str, JsonValue] = {
            "model": self.dialect.model, "messages": turns, "max_tokens": 1, "prompt_logprobs": 1,
            "add_generation_prompt": not answer, "continue_final_message": bool(answer),
        }  # fmt: skip
        self.requests += 1
        try:
            reply = (await self._server.post(contract.CHAT_PATH, json_text.dump_line(body))).reply
        except (OSError, TooLargeError):
            return b""
        return reply.body if reply.status == 200 and b'"prompt_logprobs"' in reply.body else b""

    async def _post(self, path: str, body: dict[str, JsonValue]) -> tuple[Sequence[Reading], bytes]:
        self.requests += 1
        try:
            reply = (await self._server.post(path, json_text.dump_line(body))).reply
        except (OSError, TooLargeError) as error:
            return [Reading(error=f"{type(error).__name__}: {error}")], b""
        return read(reply.status, reply.body), reply.body

    def salt(self) -> str:
        """A salt that no other request has."""
        return next(self._salts)


async def find(connections: Connections, settings: NumericsSettings) -> tuple[Server, Dialect]:
    """Find out what the server can be asked: by token ids or by text, for how many log-probabilities.

    NEUTRAL is left out only if no form with it is accepted: vLLM's top_k of -1 is an error elsewhere.

    Raises:
        Blocked: no server answers, or it gives no log-probabilities.
        UsageError: it has no model of the given name.
    """
    seen = await describe(ProbeSettings(url=settings.url, model=settings.model))
    model = str(seen["model"])
    ids = await tokens_of(connections, model, TRIAL)
    forms = [*([Prompt(ids=ids)] if ids else []), Prompt(text=TRIAL)]
    refused = []
    without: Mapping[str, JsonValue] = {}
    for neutral, prompt, logprobs in itertools.product((NEUTRAL, without), forms, MOST_LOGPROBS):
        dialect = Dialect(model=model, logprobs=logprobs, neutral=neutral)
        reading = await Asker(connections, dialect, "").read(prompt, tokens=2)
        if not reading.error:
            server = Server(
                model=model,
                takes_ids=bool(prompt.ids),
                logprobs=max(len(each.top) for each in reading.positions),
                context=seen["max_model_len"],
                version=seen["version"],
                header=seen["header"],
            )
            return server, dialect
        refused.append(reading.error)
    raise Blocked(
        msg(
            "the server gives no log-probabilities, so that nothing can be compared: {reason}",
            reason=refused[0],
        )
    )


async def tokens_of(connections: Connections, model: str, text: str) -> tuple[int, ...]:
    """The tokens of a text by the server's tokenizer; () if it does not report them."""
    body = {"model": model, "prompt": text, "add_special_tokens": False}
    try:
        reply = (await connections.post(_TOKENIZE, json_text.dump_line(body))).reply
        answer = json_text.load(reply.body) if reply.status == 200 else None
    except (OSError, TooLargeError, JsonError):
        return ()
    ids = answer.get("tokens") if isinstance(answer, dict) else None
    if not isinstance(ids, list) or not all(isinstance(each, int) for each in ids):
        return ()
    return tuple(each for each in ids[:_MOST_IDS] if isinstance(each, int))
