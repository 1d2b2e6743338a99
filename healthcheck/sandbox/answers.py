"""HTTP server for a recorded launch: answers health checks, the model list and chats."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass

from healthcheck.sandbox import replies

_PATIENCE_S = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """The ports of a recorded server and the model names it serves; with `strict`, other names get a 404."""

    ports: frozenset[int]
    names: tuple[str, ...]
    strict: bool


def _unknown_model(server: Served, request: bytes) -> str:
    """The model that the request names, if the server does not serve it; otherwise ""."""
    wanted = replies.model_wanted(request) if server.strict else ""
    return "" if wanted in server.names else wanted


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
            threading.Thread(
                target=_answer_one, args=(connection, server, asked), daemon=True
            ).start()
        except (OSError, RuntimeError):  # noqa: PERF203 - a failed connection must not stop the next one
            continue


def _answer_one(connection: socket.socket, server: Served, asked: Callable[[str], None]) -> None:
    with connection, contextlib.suppress(OSError):
        connection.settimeout(_PATIENCE_S)
        unknown = _unknown_model(server, _request(connection))
        asked(unknown)
        connection.sendall(replies.reply(server.names, unknown))


def _request(connection: socket.socket) -> bytes:
    data = b""
    while not replies.is_whole(data) and (more := connection.recv(65536)):
        data += more
    return data
