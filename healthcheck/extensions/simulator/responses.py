"""Writes the responses of the simulated endpoint: heads, whole bodies, and bodies in pieces."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Mapping
from http import HTTPStatus

from healthcheck.core.records import SIMULATOR
from healthcheck.extensions.simulator.faults import Reply

_CUT_BYTES = 7
_GZIP = 31
"""The wbits value of zlib for a window of 32 KiB in a gzip frame."""


class BodyWriter:
    """A response body: chunked, or ended by the end of the connection."""

    def __init__(
        self, writer: asyncio.StreamWriter, *, chunked: bool, cut: str, zipped: bool = False
    ) -> None:
        self._writer = writer
        self._chunked = chunked
        self._cut = cut
        self._zip = zlib.compressobj(wbits=_GZIP) if zipped else None

    async def start(self, headers: Mapping[str, str]) -> None:
        """Write the head of a 200 response."""
        way = "transfer-encoding: chunked" if self._chunked else "connection: close"
        zipped = {"content-encoding": "gzip"} if self._zip else {}
        self._writer.write(_head(200, {**headers, **zipped}, way))
        await self._writer.drain()

    async def write(self, data: bytes) -> None:
        """Write a part of the body, in small pieces if `cut` is "bytes"."""
        if self._zip:
            data = self._zip.compress(data) + self._zip.flush(zlib.Z_SYNC_FLUSH)
        if self._cut != "bytes":
            await self._piece(data)
            return
        for start in range(0, len(data), _CUT_BYTES):
            await self._piece(data[start : start + _CUT_BYTES])

    async def _piece(self, data: bytes) -> None:
        if data:
            self._writer.write(b"%x\r\n%s\r\n" % (len(data), data) if self._chunked else data)
            await self._writer.drain()

    async def end(self) -> bool:
        """End the body; returns whether the connection can be used again."""
        if self._zip:
            await self._piece(self._zip.flush())
        if self._chunked:
            self._writer.write(b"0\r\n\r\n")
            await self._writer.drain()
        return self._chunked


async def send(writer: asyncio.StreamWriter, answer: Reply) -> None:
    """Write a whole response."""
    way = f"content-length: {len(answer.body)}"
    writer.write(_head(answer.status, answer.headers, way) + answer.body)
    await writer.drain()


def _head(status: int, headers: Mapping[str, str], way: str) -> bytes:
    lines = [f"HTTP/1.1 {status} {HTTPStatus(status).phrase}", f"server: {SIMULATOR}", way]
    lines += [f"{key}: {value}" for key, value in headers.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")
