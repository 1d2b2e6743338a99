"""Servers of one connection that say exactly what a test wants."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterator

OK = b"HTTP/1.1 200 OK\r\n"
Talk = Callable[[socket.socket], None]


def listens(connection: socket.socket) -> None:
    """Until the client has gone away."""
    while connection.recv(2**16):
        pass


@contextlib.contextmanager
def server(talk: Talk, *, reads: bool = True) -> Iterator[str]:
    """Serves one connection: reads the request unless the talk does, then talks."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        with contextlib.suppress(OSError):
            connection, _ = listener.accept()
            with connection:
                if reads:
                    connection.recv(2**16)
                talk(connection)
                connection.shutdown(
                    socket.SHUT_WR
                )  # unread bytes of the request would turn a close into a reset
                connection.settimeout(5)
                listens(connection)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        listener.close()
        thread.join()


def says(*parts: bytes, pause_s: float = 0.0) -> Talk:
    def talk(connection: socket.socket) -> None:
        for part in parts:
            connection.sendall(part)
            time.sleep(pause_s)

    return talk
