"""Parses the header of a safetensors file from bytes. Tensor data is never read.

Source of the rules: the safetensors format description and its reference implementation, release 0.8: eight bytes
of little-endian length, at most 100,000,000; JSON that starts with `{`; tensors that fill the rest of the file
without holes, overlaps or trailing bytes.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from healthcheck.stages.weights.folder import shown
from healthcheck.text.messages import msg

LENGTH_BYTES = 8
MAX_HEADER_BYTES = 100_000_000
"""The format's own limit."""
MAX_READ_BYTES = 16 * 1024**2
"""The longest header that the kit reads; the largest known ones have 12 MB."""
MAX_FAULTS = 20
MAX_DIMENSIONS = 32
MAX_EXTENT = 2**63

BITS = {
    "BOOL": 8, "U8": 8, "I8": 8, "F8_E5M2": 8, "F8_E4M3": 8, "F8_E8M0": 8, "F8_E4M3FNUZ": 8, "F8_E5M2FNUZ": 8,
    "F4": 4, "F6_E2M3": 6, "F6_E3M2": 6,
    "I16": 16, "U16": 16, "F16": 16, "BF16": 16,
    "I32": 32, "U32": 32, "F32": 32, "I64": 64, "U64": 64, "F64": 64, "C64": 64,
}  # fmt: skip


class FormatError(Exception):
    """The bytes are not a safetensors header; the message says why."""


class CutOffError(FormatError):
    """The file ends before its header does."""


class TooLongError(FormatError):
    """The header is within the format's limit but above the kit's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tensor:
    """One tensor of a header. `start` and `end` are byte offsets from the end of the header."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    start: int
    end: int

    @property
    def elements(self) -> int:
        return math.prod(self.shape)


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """A parsed header.

    Attributes:
        tensors: in the order of their data.
        file_bytes: the size of a whole file with this header.
        faults: messages about violations of the format; empty if the header is sound.
    """

    tensors: tuple[Tensor, ...]
    file_bytes: int
    faults: tuple[str, ...] = ()


def header_length(prefix: bytes, file_bytes: int) -> int:
    """Read the length of the JSON header from the first bytes of the file.

    Raises:
        FormatError: the length is missing, outside the format's limits, or longer than the file.
    """
    if len(prefix) < LENGTH_BYTES:
        why = msg(
            "has {file_bytes} bytes, fewer than the {length_bytes} of a header's length",
            file_bytes=file_bytes,
            length_bytes=LENGTH_BYTES,
        )
        raise CutOffError(why)
    length = int.from_bytes(prefix[:LENGTH_BYTES], "little")
    if length > MAX_HEADER_BYTES:
        why = msg(
            "claims a header of {length:,} bytes; the format allows {max_header_bytes:,}{looks}",
            length=length,
            max_header_bytes=MAX_HEADER_BYTES,
            looks=_looks_like(prefix),
        )
        raise FormatError(why)
    if length < 2:
        raise FormatError(
            msg("claims a header of {length} bytes, too short for any JSON", length=length)
        )
    if length > file_bytes - LENGTH_BYTES:
        why = msg(
            "is cut off: its header has {length:,} bytes, the whole file {file_bytes:,}",
            length=length,
            file_bytes=file_bytes,
        )
        raise CutOffError(why)
    return length


def parse_header(data: bytes, file_bytes: int | None = None) -> Header:
    """Parse the JSON of a header (the bytes after the length).

    Args:
        data: the whole JSON.
        file_bytes: size of the whole file; None skips the check of the size.

    Raises:
        FormatError: the data is not a JSON object of tensors.
    """
    faults: list[str] = []
    tensors = sorted(
        _tensors(_object(data, faults), faults), key=lambda tensor: (tensor.start, tensor.end)
    )
    position = _fill(tensors, faults)
    whole = LENGTH_BYTES + len(data) + position
    if file_bytes is not None and file_bytes < whole:
        seen = msg(
            "is cut off: its tensors end at byte {whole:,}, the file has {file_bytes:,}",
            whole=whole,
            file_bytes=file_bytes,
        )
        faults.append(seen)
    elif file_bytes is not None and file_bytes > whole:
        faults.append(
            msg(
                "has {file_bytes:,} bytes after its last tensor, which no tensor describes",
                file_bytes=file_bytes - whole,
            )
        )
    return Header(tensors=tuple(tensors), file_bytes=whole, faults=tuple(faults[:MAX_FAULTS]))


def _object(data: bytes, faults: list[str]) -> dict[str, object]:
    if not data.startswith(b"{"):
        why = msg(
            "has a header that does not start with {{ but with {start}{looks}",
            start=repr(data[:12]),
            looks=_looks_like(data),
        )
        raise FormatError(why)

    def collect(pairs: list[tuple[str, object]]) -> dict[str, object]:
        found = dict(pairs)
        if len(found) < len(pairs):
            twice = Counter(name for name, _ in pairs).most_common(1)[0][0]
            faults.append(msg("names {twice} twice in its header", twice=_named(twice)))
        return found

    try:
        value = json.loads(data.decode("utf-8"), object_pairs_hook=collect)
    except UnicodeDecodeError as error:
        raise FormatError(
            msg("has a header that is not UTF-8 (byte {start})", start=error.start)
        ) from error
    except (ValueError, RecursionError) as error:
        raise FormatError(
            msg("has a header that is not JSON: {error}", error=shown(str(error)))
        ) from error
    assert isinstance(value, dict)
    return value


def _tensors(value: dict[str, object], faults: list[str]) -> Iterator[Tensor]:
    for name, described in value.items():
        if name == "__metadata__":
            if not isinstance(described, dict) or not all(
                isinstance(text, str) for text in described.values()
            ):
                faults.append(msg("has __metadata__ that is not a map of texts"))
            continue
        try:
            yield _tensor(name, described)
        except FormatError as error:
            faults.append(
                msg("describes tensor {name} wrongly: {error}", name=_named(name), error=error)
            )


def _tensor(name: str, described: object) -> Tensor:
    if not isinstance(described, dict):
        raise FormatError(msg("no object"))
    dtype, shape, offsets = (
        described.get("dtype"),
        described.get("shape"),
        described.get("data_offsets"),
    )
    if not isinstance(dtype, str) or dtype not in BITS:
        raise FormatError(msg("unknown dtype {dtype}", dtype=_brief(dtype)))
    dimensions = _naturals(shape, "shape")
    bounds = _naturals(offsets, "data_offsets")
    if len(bounds) != 2 or bounds[0] > bounds[1]:
        raise FormatError(msg("data_offsets {bounds} are not a range", bounds=list(bounds[:4])))
    tensor = Tensor(name=name, dtype=dtype, shape=dimensions, start=bounds[0], end=bounds[1])
    bits = tensor.elements * BITS[dtype]
    if bits % 8 or bits // 8 != tensor.end - tensor.start:
        size = f"{bits / 8:,.1f}" if bits % 8 else f"{bits // 8:,}"
        shape_text = "×".join(map(str, dimensions)) or "scalar"
        why = msg(
            "{dtype} {shape_text} takes {size} bytes, its range has {end:,}",
            dtype=dtype,
            shape_text=shape_text,
            size=size,
            end=tensor.end - tensor.start,
        )
        raise FormatError(why)
    return tensor


def _naturals(value: object, what: str) -> tuple[int, ...]:
    if not isinstance(value, list) or len(value) > MAX_DIMENSIONS:
        raise FormatError(
            msg(
                "{what} is not a list of at most {max_dimensions} numbers",
                what=what,
                max_dimensions=MAX_DIMENSIONS,
            )
        )
    for item in value:
        if not isinstance(item, int) or isinstance(item, bool) or not 0 <= item < MAX_EXTENT:
            raise FormatError(
                msg("{what} holds {item}, which is not a size", what=what, item=_brief(item))
            )
    return tuple(value)


def _named(name: str) -> str:
    return repr(shown(name, 60))


def _brief(value: object) -> str:
    """A value of the header for a message; only the type of a list or an object, which may be very long."""
    return shown(repr(value), 40) if isinstance(value, (str, int, float)) else type(value).__name__


def _fill(tensors: list[Tensor], faults: list[str]) -> int:
    """Check that the tensors fill their range; returns its end."""
    position = 0
    for tensor in tensors:
        if tensor.start < position and tensor.end > tensor.start:
            seen = msg(
                "has tensors that overlap: {name} starts inside the one before it",
                name=_named(tensor.name),
            )
            faults.append(seen)
        elif tensor.start > position:
            faults.append(
                msg(
                    "has a hole of {start:,} bytes before {name}",
                    start=tensor.start - position,
                    name=_named(tensor.name),
                )
            )
        position = max(position, tensor.end)
    return position


def _looks_like(data: bytes) -> str:
    """Guess the kind of file, for the message."""
    start = data.lstrip()[:9].lower()
    if start.startswith((b"<!doctyp", b"<html", b"<?xml")):
        return msg("; it looks like a web page that was saved under this name")
    if start.startswith(b"version "):
        return msg("; it looks like a Git LFS pointer")
    if start.startswith(b"pk\x03\x04"):
        return msg("; it looks like a zip file, as torch.save writes it")
    if start.startswith(b"gguf"):
        return msg("; it looks like a GGUF file")
    if start.startswith(b'{"'):
        return msg("; it looks like JSON that was saved under this name")
    return ""
