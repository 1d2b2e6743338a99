"""Decompresses bodies in bounded steps: a few kilobytes can expand to gigabytes."""

from __future__ import annotations

import zlib
from collections.abc import Iterator

from healthcheck.text.messages import msg

OFFERED = "gzip, deflate"
"""The Accept-Encoding of the evaluation client's HTTP library."""
_STEP_BYTES = 2**18


class InflateError(ConnectionError):
    """The body is not compressed as its header says, or with an encoding that was not offered."""


class Inflater:
    """Decompresses the body of a response with this content-encoding."""

    def __init__(self, encoding: str) -> None:
        name = encoding.strip().lower()
        if name not in {"", "identity", "gzip", "x-gzip", "deflate"}:
            why = msg(
                "content-encoding {encoding} was not offered (accept-encoding: {offered})",
                encoding=repr(encoding),
                offered=OFFERED,
            )
            raise InflateError(why)
        self._deflate = name == "deflate"
        self._open = name in {"", "identity"}
        self._engine: zlib._Decompress | None = None

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Decompress bytes, in pieces of at most 256 KiB.

        Raises:
            InflateError: the bytes are not compressed as the header says.
        """
        if self._open:
            yield data
            return
        while data:
            if self._engine is None or self._engine.eof:
                self._engine = zlib.decompressobj(wbits=self._window(data))
            try:
                piece = self._engine.decompress(data, _STEP_BYTES)
            except zlib.error as error:
                raise InflateError(
                    msg("a compressed body that cannot be opened: {error}", error=error)
                ) from error
            data = self._engine.unconsumed_tail or self._engine.unused_data
            if piece:
                yield piece

    def _window(self, data: bytes) -> int:
        """The window bits for zlib: servers send "deflate" with zlib's header or without."""
        if not self._deflate:
            return 16 + zlib.MAX_WBITS
        return zlib.MAX_WBITS if data[0] & 0xF == 8 else -zlib.MAX_WBITS
