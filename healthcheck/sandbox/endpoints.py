"""Finds which sockets a TCP connection to a local address would reach, from the kernel's socket tables."""

from __future__ import annotations

import contextlib
import socket
import struct
from collections.abc import Iterator
from dataclasses import dataclass

_TABLES = ("/proc/net/tcp", "/proc/net/tcp6")
_LISTENS = "0A"
_MAPPED = b"\0" * 10 + b"\xff" * 2
_ANY = {False: {b"\0" * 16}, True: {b"\0" * 16, _MAPPED + b"\0" * 4}}
"""The wildcard addresses, by whether they have to accept IPv4."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One end of a connection; IPv4 addresses are stored as IPv4-mapped IPv6."""

    address: bytes
    port: int

    @classmethod
    def of(cls, host: str, port: int) -> Endpoint:
        """Parse a textual address."""
        return cls(socket.inet_pton(socket.AF_INET6, host if ":" in host else f"::ffff:{host}"), port)

    @classmethod
    def noted(cls, text: str) -> Endpoint:
        """Parse a table's column: hexadecimal words in the machine's byte order."""
        digits, _, port = text.partition(":")
        address = b"".join(struct.pack("=I", int(digits[at : at + 8], 16)) for at in range(0, len(digits), 8))
        return cls(address if len(address) == len(_MAPPED) + 4 else _MAPPED + address, int(port, 16))


@dataclass(frozen=True, slots=True)
class _Socket:
    local: Endpoint
    remote: Endpoint
    listens: bool
    name: str


def _sockets(port: int) -> Iterator[_Socket]:
    """The sockets of this machine that use a local port."""
    for table in _TABLES:
        with contextlib.suppress(FileNotFoundError), open(table, encoding="ascii") as file:
            for fields in map(str.split, file):
                if fields[1].endswith(f":{port:04X}"):
                    local, remote = Endpoint.noted(fields[1]), Endpoint.noted(fields[2])
                    yield _Socket(local, remote, fields[3] == _LISTENS, f"socket:[{fields[9]}]")


def listening(place: Endpoint) -> set[str]:
    """The sockets that a connection to this place may reach, as links in /proc name them."""
    addresses = {place.address} | _ANY[place.address.startswith(_MAPPED)]
    return {found.name for found in _sockets(place.port) if found.listens and found.local.address in addresses}


def is_between(ours: Endpoint, theirs: Endpoint) -> bool:
    """Whether our connection really ends at this place: a packet filter may have redirected it."""
    return any((found.local, found.remote) == (theirs, ours) for found in _sockets(theirs.port))
