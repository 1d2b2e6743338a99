"""The simulated endpoint: a small HTTP/1.1 server on raw bytes, which faults can split, delay and cut."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import threading
import uuid
from collections.abc import Mapping
from dataclasses import replace
from itertools import count

from healthcheck import contract
from healthcheck.core.records import SIMULATOR, JsonValue
from healthcheck.errors import Blocked, UsageError, reason_of
from healthcheck.extensions.simulator.behaviour import Behaviour
from healthcheck.extensions.simulator.catalogue import FAULTS, named
from healthcheck.extensions.simulator.completions import (
    COMPLETIONS_PATH,
    TOKENIZE_PATH,
    Completions,
)
from healthcheck.extensions.simulator.dialects import DIALECTS, blocks, plain
from healthcheck.extensions.simulator.faults import (
    Fault,
    Reply,
    ServerState,
    Stream,
    refusal,
    reply,
)
from healthcheck.extensions.simulator.generation import Generation
from healthcheck.extensions.simulator.model import SimulatedModel
from healthcheck.extensions.simulator.request import Request
from healthcheck.extensions.simulator.responses import BodyWriter, send
from healthcheck.text.did_you_mean import hint
from healthcheck.text.messages import msg

MAX_HEAD_BYTES = 2**16
MAX_BODY_BYTES = 2**26
_BACKLOG = 1024
_BURST_TOKEN_S = 0.0125
_FOR_EVER_S = 3600


class Simulator:
    """A context manager that runs a simulated endpoint in a thread.

        with Simulator(Behaviour(model="m")) as simulator:
            requests.get(simulator.url + "/v1/models")

    Raises:
        UsageError: the behaviour names a dialect or fault that does not exist.
        Blocked: the port is taken.
    """

    def __init__(
        self, behaviour: Behaviour | None = None, *, host: str = "127.0.0.1", port: int = 0
    ) -> None:
        self.behaviour = behaviour or Behaviour()
        unknown = [name for name in self.behaviour.faults if named(name) is None]
        if unknown or self.behaviour.dialect not in DIALECTS:
            wrong = unknown[0] if unknown else self.behaviour.dialect
            raise UsageError(
                msg(
                    "there is no fault or dialect {wrong}{near} (`npu-adapter simulate --list` shows all)",
                    wrong=repr(wrong),
                    near=hint(wrong, FAULTS if unknown else DIALECTS),
                )
            )
        self.host, self.port = host, port
        self.requests: list[Request] = []
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="simulator", daemon=True)
        self._ready = threading.Event()
        self._error: OSError | None = None

    @property
    def url(self) -> str:
        host = "127.0.0.1" if self.host in {"0.0.0.0", "", "::"} else self.host  # noqa: S104 - not a bind
        return f"http://{host}:{self.port}"

    @property
    def alive(self) -> bool:
        """Whether it still serves: a fault can end it."""
        return self._thread.is_alive()

    def __enter__(self) -> Simulator:  # noqa: PYI034 - typing.Self is not in Python 3.10
        self._thread.start()
        self._ready.wait()
        if self._error:
            self._thread.join()
            reason = reason_of(self._error)
            raise Blocked(
                msg(
                    "cannot listen on {host}:{port}: {reason}",
                    host=self.host,
                    port=self.port,
                    reason=reason,
                )
            ) from self._error
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(RuntimeError):  # it has ended
            self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()

    def _run(self) -> None:
        with contextlib.closing(self._loop):
            self._loop.run_until_complete(self._serve())

    async def _serve(self) -> None:
        self._stop = asyncio.Event()
        service = _Service(self.behaviour, self.requests, self._stop)
        try:
            listener = socket.create_server((self.host, self.port), backlog=_BACKLOG)
        except OSError as error:
            self._error = error
            self._ready.set()
            return
        with listener:
            listener.setblocking(False)
            self.port = listener.getsockname()[1]
            self._loop.add_reader(listener, service.accept, listener)
            self._ready.set()
            await self._stop.wait()
            self._loop.remove_reader(listener)
        await service.hang_up()


class _Service:
    """The behaviour on each connection."""

    def __init__(self, behaviour: Behaviour, served: list[Request], stop: asyncio.Event) -> None:
        self._behaviour = behaviour
        self._dialect = DIALECTS[behaviour.dialect]
        self._faults: tuple[Fault, ...] = tuple(
            f for name in behaviour.faults if (f := named(name))
        )
        self._name = next((fault.serves for fault in self._faults if fault.serves), behaviour.model)
        self._malformed = next((fault.malformed for fault in self._faults if fault.malformed), 400)
        self._model = SimulatedModel(behaviour, apart=bool(self._dialect.reasoning))
        self._completions = Completions(behaviour, self._faults, self._name)
        self._state = ServerState()
        self._served = served
        self._stop = stop
        self._numbers = count()
        self._slots = asyncio.Semaphore(behaviour.slots or 2**20)
        self._connections: dict[asyncio.Task[None], socket.socket] = {}

    def accept(self, listener: socket.socket) -> None:
        """Accept one connection. asyncio's own functions lose connections if they are cancelled during accept."""
        try:
            accepted, _ = listener.accept()
        except (BlockingIOError, ConnectionError):
            return
        accepted.setblocking(False)
        task = asyncio.ensure_future(self._connection(accepted))
        self._connections[task] = accepted
        task.add_done_callback(lambda task: self._connections.pop(task).close())

    async def hang_up(self) -> None:
        """Cut every connection."""
        tasks = tuple(self._connections)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.sleep(0)  # lets the transports close their sockets

    async def _connection(self, accepted: socket.socket) -> None:
        """Answer the requests of one connection in turn."""
        reader, writer = await asyncio.open_connection(sock=accepted, limit=MAX_HEAD_BYTES)
        try:
            while request := await self._read(reader, writer):
                self._served.append(request)
                if not await self._answer(request, reader, writer):
                    break
        except (ConnectionError, asyncio.IncompleteReadError):
            self._stick("disconnect")
        except asyncio.CancelledError:
            writer.transport.abort()
        finally:
            writer.close()
            with contextlib.suppress(ConnectionError, asyncio.CancelledError):
                await writer.wait_closed()

    async def _read(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> Request | None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, ConnectionError):
            return None
        first, *lines = head.decode("latin-1").split("\r\n")
        method, _, rest = first.partition(" ")
        headers = {
            key.strip().lower(): value.strip()
            for key, _, value in (line.partition(":") for line in lines)
        }
        length = int(headers.get("content-length") or 0)
        if length > MAX_BODY_BYTES:
            await send(writer, refusal(413, "the body is too large"))
            return None
        data = await reader.readexactly(length)
        path = rest.split(" ")[0].split("?")[0]
        chat = path == contract.CHAT_PATH
        return Request(
            method=method,
            path=path,
            headers=headers,
            body=_json_object(data),
            number=next(self._numbers) if chat else 0,
            concurrent=self._state.concurrent,
            tokenizer=self._behaviour.tokenizer,
        )

    async def _answer(
        self, request: Request, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bool:
        """Answer one request; returns whether the connection can be reused."""
        if any(fault.deaf for fault in self._faults):
            await asyncio.sleep(_FOR_EVER_S)
        refused = next((r for f in self._faults if f.refuse and (r := f.refuse(request))), None)
        if refused:
            await send(writer, refused)
        elif request.path == contract.MODELS_PATH and request.method == "GET":
            await send(writer, self._models())
        elif request.path == "/metrics" and self._dialect.completions:
            await send(writer, Reply(status=200, body=self._state.metrics().encode(), headers={}))
        elif request.path == "/health":
            await send(writer, Reply(status=200, body=b"", headers={}))
        elif self._dialect.completions and request.path in {COMPLETIONS_PATH, TOKENIZE_PATH}:
            await send(writer, await self._completions.answer(request, reader.at_eof))
        elif request.path != contract.CHAT_PATH:
            await send(writer, reply(404))
        elif request.method != "POST":
            await send(writer, reply(405))
        else:
            return await self._chat(request, writer)
        return True

    def _models(self) -> Reply:
        card = {"id": self._name, "object": "model", "created": 0, "owned_by": SIMULATOR}
        if self._dialect.lists_context:
            card["max_model_len"] = self._behaviour.context_tokens
        return reply(200, {"object": "list", "data": [card]})

    async def _chat(self, request: Request, writer: asyncio.StreamWriter) -> bool:
        if any(f.dies_after is not None and request.number >= f.dies_after for f in self._faults):
            self._stop.set()
            return False
        with self._state.answering():
            if problem := self._problem(request):
                await self._hang_if_faulty(request)
                self._stick("problem")
                await send(writer, problem)
                return True
            async with self._slots:
                return await self._serve(request, writer)

    async def _hang_if_faulty(self, request: Request) -> None:
        if any(fault.hangs and fault.hangs(request, self._state) for fault in self._faults):
            await asyncio.sleep(_FOR_EVER_S)

    def _stick(self, event: str) -> None:
        self._state.stuck |= any(fault.sticks_after == event for fault in self._faults)

    async def _serve(self, request: Request, writer: asyncio.StreamWriter) -> bool:
        generation = self._generate(request)
        self._state.clock(
            self._behaviour.first_token_s, generation.length * self._behaviour.token_s
        )
        streamed = request.streamed and all(fault.streams for fault in self._faults)
        with self._state.generating(generation):
            await asyncio.sleep(max([fault.pause_s for fault in self._faults], default=0.0))
            await self._hang_if_faulty(request)
            if streamed:
                return await self._stream(request, generation, writer)
            await asyncio.sleep(
                self._behaviour.first_token_s + generation.length * self._behaviour.token_s
            )
            await send(writer, self._plain(request, generation))
            return True

    def _problem(self, request: Request) -> Reply | None:
        body, behaviour = request.body, self._behaviour
        if body is None or not _is_chat(body):
            fault = refusal(
                self._malformed, "the body must be a JSON object with a list of messages"
            )
            return None if self._malformed == 200 else fault
        if not self._dialect.any_model and body.get("model", self._name) != self._name:
            return refusal(404, f"The model `{body.get('model')}` does not exist.")
        if not self._dialect.takes_zero and body.get("temperature") == 0:
            return refusal(422, "Input validation error: `temperature` must be strictly positive")
        try:
            wanted = request.prompt_tokens + int(request.number_of("max_tokens", 0))
        except ValueError as error:
            return refusal(400, str(error))
        limit = behaviour.context_tokens
        if wanted > limit:
            return refusal(
                400, f"This model's maximum context length is {limit} tokens, not {wanted}."
            )
        return None

    def _generate(self, request: Request) -> Generation:
        changed = request
        for fault in self._faults:
            if fault.on_request:
                changed = fault.on_request(changed, self._state)
        generation = self._model.generate(changed)
        if any(fault.counts_all for fault in self._faults):
            generation = replace(generation, prompt_tokens=request.prompt_tokens)
        for fault in self._faults:
            if fault.on_generation:
                generation = fault.on_generation(generation, changed)
        return generation

    def _plain(self, request: Request, generation: Generation) -> Reply:
        wants, model = bool((request.body or {}).get("logprobs")), self._behaviour.model
        return reply(
            200, plain(generation, self._dialect, identity=_identity(), model=model, logprobs=wants)
        )

    def _changed_by_others(self, generation: Generation) -> Generation:
        changed = generation
        for fault in self._faults:
            if fault.on_overlap:
                changed = fault.on_overlap(generation, self._state)
        return changed

    def _as_stream(self, request: Request, generation: Generation) -> Stream:
        body = request.body or {}
        wants, model = bool(body.get("logprobs")), self._behaviour.model
        told = blocks(generation, self._dialect, identity=_identity(), model=model, logprobs=wants)
        begun, ended = (
            tuple((block + self._dialect.blank).encode() for block in part) for part in told
        )
        stream = Stream(begun=begun, ended=ended)
        for fault in self._faults:
            if fault.on_stream and (not fault.with_field or fault.with_field in body):
                stream = fault.on_stream(stream)
        return stream

    async def _stream(
        self, request: Request, generation: Generation, writer: asyncio.StreamWriter
    ) -> bool:
        zipped = self._dialect.gzip and "gzip" in request.headers.get("accept-encoding", "")
        chunked = self._dialect.framing == "chunked"
        body = BodyWriter(writer, chunked=chunked, cut=self._dialect.cut, zipped=zipped)
        kinds = [fault.content_type for fault in self._faults if fault.content_type]
        await body.start({"content-type": kinds[-1] if kinds else self._dialect.content_type})
        stream = self._as_stream(request, self._changed_by_others(generation))
        await self._pace(stream, generation.length, body)
        if stream.broken:
            writer.transport.abort()
            return False
        return await body.end()

    async def _pace(self, stream: Stream, tokens: int, body: BodyWriter) -> None:
        """Write the blocks at the model's pace."""
        step_s = max([self._behaviour.token_s, *(fault.step_s for fault in self._faults)])
        await asyncio.sleep(self._behaviour.first_token_s)
        if any(fault.stalls for fault in self._faults):
            await body.write(b"".join(stream.begun[: max(1, len(stream.begun) // 2)]))
            await asyncio.sleep(_FOR_EVER_S)
        if stream.burst:
            await asyncio.sleep(max(_BURST_TOKEN_S, step_s) * tokens)
        if not step_s or stream.burst:
            await body.write(b"".join(stream.begun + stream.ended))
            return
        clock = asyncio.get_running_loop()
        due_s, block_s = clock.time(), step_s * tokens / max(1, len(stream.begun))
        for block in stream.begun:
            due_s += block_s
            await asyncio.sleep(max(0.0, due_s - clock.time()))
            await body.write(block)
        await body.write(b"".join(stream.ended))


def _is_chat(body: Mapping[str, JsonValue]) -> bool:
    """Whether the body has messages, each with a role, as every server requires."""
    messages = body.get("messages")
    listed = messages if isinstance(messages, list) else []
    return bool(listed) and all(
        isinstance(each, dict) and isinstance(each.get("role"), str) for each in listed
    )


def _identity() -> str:
    return f"chatcmpl-simulated-{uuid.uuid4().hex}"


def _json_object(data: bytes) -> dict[str, JsonValue] | None:
    try:
        value = json.loads(data)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None
