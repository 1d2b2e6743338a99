"""Sockets where none may be created: each is one end of a pair, and a recorded server answers at the other."""

from __future__ import annotations

import _socket
import os
from types import ModuleType
from typing import Any

from healthcheck.sandbox import replies
from healthcheck.sandbox.protocol import NO_NETWORK
from healthcheck.stages.plan.dry_run.stubs import note, recorded_servers

_INET = {-1, _socket.AF_INET, _socket.AF_INET6}
_FREE_PORT, _AT_ONCE = 49152, 65536


def patch(module: ModuleType) -> None:
    """Replace the class of sockets."""
    module.__dict__["socket"] = type("socket", (_Offline, module.__dict__["socket"]), {})


def _refusal() -> OSError:
    """What the kernel would say of a call that needs a network."""
    note.missing_network()
    return OSError(NO_NETWORK, os.strerror(NO_NETWORK))


class _Offline:
    """The methods of a socket of the internet that differ; a pair of local sockets stays as it is."""

    _other: Any = None
    """The other end; None for a socket that was made from a descriptor."""
    _port: int | None = None
    _sent, _address = b"", ("127.0.0.1", 0)

    def __init__(
        self,
        family: int = -1,
        type: int = -1,  # noqa: A002
        proto: int = -1,
        fileno: Any = None,
    ) -> None:
        really: Any = super()
        if fileno is not None:
            really.__init__(family, type, proto, fileno)
            return
        if family not in _INET:
            raise _refusal()
        self._other, theirs = _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_STREAM)
        family = _socket.AF_INET if family == -1 else family
        really.__init__(
            family, _socket.SOCK_STREAM if type == -1 else type, max(proto, 0), theirs.detach()
        )

    def bind(self, address: Any) -> None:
        if self._other is None:
            raise _refusal()
        self._address = (address[0], address[1] or _FREE_PORT + os.getpid() % 16384, *address[2:])

    def connect(self, address: Any) -> None:
        if self._other is None:
            raise _refusal()
        if recorded_servers.recorded_server(address[1]) is None:
            raise ConnectionRefusedError(111, "Connection refused")
        recorded_servers.note_request("")
        self._other.setblocking(False)
        self._port = address[1]

    def connect_ex(self, address: Any) -> int:
        try:
            self.connect(address)
        except OSError as error:
            return error.errno or 0
        return 0

    def send(self, data: Any, *flags: int) -> int:
        really: Any = super()
        sent: int = really.send(data, *flags)
        if self._port is not None:
            self._sent += self._other.recv(sent)
            if replies.is_whole(self._sent):
                self._other.sendall(recorded_servers.server_reply(self._port, self._sent))
                self._other.close()
                self._port = None
        return sent

    def sendall(self, data: Any, *flags: int) -> None:
        rest = memoryview(data).cast("B")
        while rest:
            rest = rest[self.send(rest[:_AT_ONCE], *flags) :]

    def listen(self, *_: Any) -> Any:
        raise _refusal()

    accept = listen

    def getsockname(self) -> Any:
        really: Any = super()
        return really.getsockname() if self._other is None else self._address

    def setsockopt(self, *words: Any) -> None:
        really: Any = super()
        if self._other is None:
            really.setsockopt(*words)
