"""Generates small images: PNG files of one colour or pattern, as data URLs."""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Callable, Sequence

SIDE_PIXELS = 112
Colour = tuple[int, int, int]


def pictures() -> tuple[str, ...]:
    """Data URLs of four images that no vision model confuses."""
    return (
        _address(lambda _x, _y: (220, 20, 20)),
        _address(lambda _x, _y: (20, 40, 220)),
        _address(lambda x, y: (255, 255, 255) if (x // 14 + y // 14) % 2 else (0, 0, 0)),
        _address(lambda x, y: (2 * x, 255 - 2 * y, 128)),
    )


def png(pixel: Callable[[int, int], Colour], side: int = SIDE_PIXELS) -> bytes:
    """A square RGB image with 8 bits per channel (PNG, ISO/IEC 15948)."""
    return encoded([b"".join(bytes(pixel(x, y)) for x in range(side)) for y in range(side)])


def encoded(lines: Sequence[bytes | bytearray]) -> bytes:
    """A square image from its lines, three bytes per pixel."""
    side, rows = len(lines), b"".join(b"\0" + line for line in lines)
    header = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(rows)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(map(_chunk, chunks))


def _chunk(part: tuple[bytes, bytes]) -> bytes:
    kind, data = part
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def _address(pixel: Callable[[int, int], Colour]) -> str:
    return "data:image/png;base64," + base64.b64encode(png(pixel)).decode()
