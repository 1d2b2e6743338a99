"""HTTP server for a recorded launch: answers health checks, the model list and chats."""

from __future__ import annotations

import json
import re
import socket
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass

_REQUEST_BYTES = 1024**2
_PATIENCE_S = 20.0
_LENGTH = re.compile(rb"(?i)\r\ncontent-length:[ \t]*(\d{1,9})")
_HEAD = "HTTP/1.1 %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\nConnection: close\r\n\r\n"
_MESSAGE = {"role": "assistant", "content": "ok"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """The ports of a recorded server and the model names it serves; with `strict`, other names get a 404."""

    ports: frozenset[int]
    names: tuple[str, ...]
    strict: bool


def _answer(server: Served, unknown: str) -> bytes:
    """The HTTP response: 404 for an unknown model, otherwise one body that suits every path."""
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
    """The model that the request names, if the server does not serve it; otherwise ""."""
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
    """Start answering at an address in threads. Port 0 takes a free port.

    `asked` is called once for each connection with "", and once for its request with the unknown model or "".

    Returns:
        The port, or 0 if the address cannot be bound.
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
        except (OSError, RuntimeError):  # noqa: PERF203 - a failed connection must not stop the next one
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
