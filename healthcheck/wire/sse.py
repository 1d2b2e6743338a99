"""Server-sent events without any I/O: bytes in, blocks out, whatever the split of the bytes.

The evaluation client (AISBench) cuts the stream at blank lines, skips blocks that begin with a colon and takes the
rest of a block after `data:` as one JSON text. The decoder here cuts at the same places, and bounds what it holds.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

MAX_BLOCK_BYTES = 4 * 2**20
_BLANK_LINE = re.compile(rb"\r\n\r\n|\n\n|\r\r")


class StreamError(Exception):
    """The bytes are not an event stream that the evaluation client could read."""


@dataclass(frozen=True, slots=True)
class Block:
    """The bytes between two blank lines, decoded; `replaced` where they were not UTF-8."""

    text: str
    replaced: bool = False


class Decoder:
    """Cuts a byte stream into blocks; holds at most one unfinished block of `limit` bytes."""

    def __init__(self, limit: int = MAX_BLOCK_BYTES) -> None:
        self._limit = limit
        self._held = bytearray()

    def feed(self, data: bytes) -> list[Block]:
        """Take the next bytes and give the blocks that they complete.

        Raises:
            StreamError: a block is longer than the limit.
        """
        start = max(0, len(self._held) - 3)
        self._held += data
        blocks, taken = [], 0
        while match := _BLANK_LINE.search(self._held, max(start, taken)):
            blocks.extend(_block(bytes(self._held[taken : match.start()])))
            taken = match.end()
        del self._held[:taken]
        if len(self._held) > self._limit:
            raise StreamError(f"no blank line within {self._limit} bytes")
        return blocks

    def close(self) -> list[Block]:
        """The stream ended: give what is left, if anything."""
        left = bytes(self._held)
        self._held.clear()
        return _block(left)


def _block(raw: bytes) -> list[Block]:
    raw = raw.strip(b"\r\n")
    if not raw:
        return []
    text = raw.decode("utf-8", errors="replace")
    return [Block(text, replaced="�" in text and b"\xef\xbf\xbd" not in raw)]
