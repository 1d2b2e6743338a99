"""HTTP server for a recorded launch: health checks, model list and chats, as its command line tells."""

from __future__ import annotations

import json
import re
import socket
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from healthcheck import contract
from healthcheck.plan.dry_run.sandbox.job import Record
from healthcheck.plan.records import Api
from healthcheck.plan.servers.engines import by_variable, find_engine
from healthcheck.plan.servers.options import CommandLine, parse

_PORT = re.compile(
    r"(?i)(?:port|bind|listen|address)[\w.-]*[\"']?[\s=:,\"]*(?:[\w.\[\]-]*:)?(\d{2,5})\b|:(\d{4,5})\b"
)
_USUAL_PORTS = (contract.PORT, 8000, 8080, 30000, 23333, 1025, 11434)
_ON_ONE_PORT = {"vllm", "sglang", "lmdeploy", "llama.cpp"}
"""Engines whose command line says on which port alone they listen."""
_REQUEST_BYTES = 1024**2
_PATIENCE_S = 20.0
_LENGTH = re.compile(rb"(?i)\r\ncontent-length:[ \t]*(\d{1,9})")
_HEAD = "HTTP/1.1 %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\nConnection: close\r\n\r\n"
_MESSAGE = {"role": "assistant", "content": "ok"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """Where a server listens, and under which names it has its model; `strict` where it knows no other name."""

    ports: frozenset[int]
    names: tuple[str, ...]
    strict: bool


def served(record: Record, model_path: str) -> Served:
    """What a recorded server would serve; every port that may be meant where its own is unknown."""
    engine, words = find_engine(record.argv)
    line = parse(words, engine.grammar)
    told = engine.name in _ON_ONE_PORT and engine.api is Api.OPENAI_CHAT and "config" not in line.options
    own = _own_port(line, engine.port_options, engine.port) if told else None
    if by_variable(engine.port_variables, record.env) or "uds" in line.options:
        own = None
    names = next((line.lists[name] for name in engine.name_options if line.lists.get(name)), ())
    by_option = next((line.options[name] for name in engine.model_options if line.options.get(name)), "")
    model = line.positional[0] if engine.positional_model and line.positional else by_option
    strict = told and engine.name == "vllm" and bool(names or model) and "lora-modules" not in line.options
    return Served(
        ports=frozenset({own}) if own else _possible_ports(record.argv, record.texts),
        names=names or ((model,) if strict else (model_path,)),
        strict=strict,
    )


def _own_port(line: CommandLine, options: tuple[str, ...], default: int | None) -> int | None:
    text = next((line.options[name] for name in options if name in line.options), str(default))
    return int(text) if re.fullmatch(r"[1-9]\d{1,4}", text) else None


def _possible_ports(argv: tuple[str, ...], texts: Mapping[str, str]) -> frozenset[int]:
    wanted = {
        int(number) for pair in _PORT.findall(" ".join([*argv, *texts.values()])) for number in pair if number
    }
    return frozenset(sorted({port for port in wanted if 80 <= port < 65536} | set(_USUAL_PORTS))[:20])


def _answer(server: Served, unknown: str) -> bytes:
    """What it says: that all is well, but for a model that it does not have."""
    if unknown:
        problem = {"message": f"The model `{unknown}` does not exist.", "type": "NotFoundError", "code": 404}
        return _response("404 Not Found", {"error": problem})
    models = [{"id": name, "object": "model", "root": name} for name in server.names]
    choices = [{"index": 0, "message": _MESSAGE, "finish_reason": "stop"}]
    return _response("200 OK", {"status": "ok", "object": "list", "data": models, "choices": choices})


def _response(status: str, body: Mapping[str, object]) -> bytes:
    data = json.dumps(body).encode() + b"\n"
    return (_HEAD % (status, len(data))).encode() + data


def _unknown_model(server: Served, request: bytes) -> str:
    """The model that a request for an answer names and the server has not, "" where there is none."""
    wanted = _model_wanted(request) if server.strict else ""
    return "" if wanted in server.names else wanted


def _model_wanted(request: bytes) -> str:
    head, _, body = request.partition(b"\r\n\r\n")
    if not head.startswith(b"POST ") or b"/v1/" not in head.partition(b"\r\n")[0]:
        return ""
    try:
        asked = json.loads(body)
    except (ValueError, RecursionError):
        return ""
    model = asked.get("model") if isinstance(asked, dict) else ""
    return model if isinstance(model, str) else ""


def listen(server: Served, place: tuple[str, int], asked: Callable[[str], None]) -> int:
    """Answer at an address from now on; the port that it is, 0 for none. Port 0 takes one that is free.

    `asked` is called for whoever asks, with the model that the server does not have, or with "".
    """
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(place)
        listener.listen(64)
    except OSError:
        listener.close()
        return 0
    threading.Thread(target=_accept_all, args=(listener, server, asked), daemon=True).start()
    return int(listener.getsockname()[1])


def _accept_all(listener: socket.socket, server: Served, asked: Callable[[str], None]) -> None:
    while True:
        try:
            connection, _ = listener.accept()
            asked("")
            threading.Thread(target=_answer_one, args=(connection, server, asked), daemon=True).start()
        except (OSError, RuntimeError):  # noqa: PERF203 - one asker's trouble is not the next one's
            continue


def _answer_one(connection: socket.socket, server: Served, asked: Callable[[str], None]) -> None:
    with connection:
        try:
            connection.settimeout(_PATIENCE_S)
            unknown = _unknown_model(server, _request(connection))
            asked(unknown)
            connection.sendall(_answer(server, unknown))
        except OSError:
            return


def _request(connection: socket.socket) -> bytes:
    data, whole = b"", _REQUEST_BYTES
    while len(data) < min(whole, _REQUEST_BYTES):
        more = connection.recv(65536)
        if not more:
            break
        data += more
        head, end, _ = data.partition(b"\r\n\r\n")
        if end:
            length = _LENGTH.search(head)
            whole = len(head) + len(end) + (int(length[1]) if length else 0)
    return data
