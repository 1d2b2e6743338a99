"""Small pictures made on the spot: PNG files of one colour or pattern, as data addresses."""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Callable, Sequence

SIDE_PIXELS = 112
Colour = tuple[int, int, int]


def pictures() -> tuple[str, ...]:
    """Data URLs of four images that no vision model confuses."""
    return tuple(map(_address, (_red, _blue, _chequered, _shaded)))


def png(pixel: Callable[[int, int], Colour], side: int = SIDE_PIXELS) -> bytes:
    """A square RGB picture of 8 bits a channel (PNG, ISO/IEC 15948)."""
    return encoded([b"".join(bytes(pixel(x, y)) for x in range(side)) for y in range(side)])


def encoded(lines: Sequence[bytes | bytearray]) -> bytes:
    """A square picture from its lines, three bytes a pixel."""
    side, rows = len(lines), b"".join(b"\0" + line for line in lines)
    header = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(rows)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(map(_chunk, chunks))


def _chunk(part: tuple[bytes, bytes]) -> bytes:
    kind, data = part
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def _address(pixel: Callable[[int, int], Colour]) -> str:
    return "data:image/png;base64," + base64.b64encode(png(pixel)).decode()


def _red(x: int, y: int) -> Colour:  # noqa: ARG001
    return (220, 20, 20)


def _blue(x: int, y: int) -> Colour:  # noqa: ARG001
    return (20, 40, 220)


def _chequered(x: int, y: int) -> Colour:
    return (255, 255, 255) if (x // 14 + y // 14) % 2 else (0, 0, 0)


def _shaded(x: int, y: int) -> Colour:
    return (2 * x, 255 - 2 * y, 128)
