"""Server-sent events without I/O: bytes in, blocks out, however the bytes are split.

The evaluation client (AISBench) splits the stream at blank lines, skips blocks that begin with a colon and takes
the rest of a block after `data:` as one JSON text. This decoder splits at the same places, and bounds its buffer.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from healthcheck.text.messages import msg

MAX_BLOCK_BYTES = 4 * 2**20
MAX_LINE_BYTES = 2**19
"""aiohttp, under the evaluation client, gives up on a longer line (3.14: 2 × its read buffer of 256 KiB)."""
_BLANK_LINE = re.compile(rb"\r\n\r\n|\n\n|\r\r")
_LONGEST_BLANK_LINE = 4


class Block(NamedTuple):
    """The decoded bytes between two blank lines; `replaced` if they were not UTF-8."""

    text: str
    replaced: bool = False


class Decoder:
    """Splits a byte stream into blocks; buffers at most one unfinished block of `limit` bytes.

    It raises nothing: `faults` lists what is wrong with the stream as a whole. After a block that exceeds the
    limit it returns no more blocks.
    """

    def __init__(self, limit: int = MAX_BLOCK_BYTES, line_limit: int = MAX_LINE_BYTES) -> None:
        self._limit = limit
        self._line_limit = line_limit
        self._held = bytearray()
        self._line_bytes = 0
        self._long_line = False
        self._overflow = False

    @property
    def faults(self) -> tuple[str, ...]:
        """The faults of the stream as a whole, in words."""
        line = msg(
            "a line of more than {line_limit} bytes: the evaluation client's HTTP library gives up on it",
            line_limit=self._line_limit,
        )
        block = msg("no blank line within {limit} bytes", limit=self._limit)
        return (line,) * self._long_line + (block,) * self._overflow

    def feed(self, data: bytes) -> list[Block]:
        """Process the next bytes; returns the blocks that they complete."""
        self._measure_lines(data)
        if self._overflow:
            return []
        start = max(0, len(self._held) - (_LONGEST_BLANK_LINE - 1))
        self._held += data
        blocks: list[Block] = []
        taken = 0
        for match in _BLANK_LINE.finditer(self._held, start):
            end, following = match.span()
            if end - taken > self._limit:
                self._overflow = True
                break
            if raw := self._held[taken:end].strip():
                blocks.append(_block(raw))
            taken = following
        del self._held[:taken]
        if self._overflow or len(self._held) >= self._limit + _LONGEST_BLANK_LINE:
            self._give_up()
        return blocks

    def close(self) -> list[Block]:
        """End the stream; returns the last block, if any."""
        left = bytes(self._held)
        if len(left) > self._limit:
            return self._give_up()
        self._held.clear()
        raw = left.strip()
        return [_block(raw)] if raw else []

    def _give_up(self) -> list[Block]:
        self._overflow = True
        self._held.clear()
        return []

    def _measure_lines(self, data: bytes) -> None:
        """Update the length of the unfinished line, with its newline, and note a line that is too long."""
        if self._line_bytes + len(data) > self._line_limit:
            *ended, open_line = data.split(b"\n")
            lengths = [len(line) + 1 for line in ended] + [len(open_line)]
            lengths[0] += self._line_bytes
            self._long_line = self._long_line or max(lengths) > self._line_limit
        end = data.rfind(b"\n")
        self._line_bytes = self._line_bytes + len(data) if end < 0 else len(data) - end - 1


def _block(raw: bytes | bytearray) -> Block:
    try:
        return Block(raw.decode("utf-8"))
    except UnicodeDecodeError:
        return Block(raw.decode("utf-8", errors="replace"), replaced=True)
