"""The last error block of a log: the traceback, or else the lines around the last complaint."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from healthcheck.service.catalogue import Failure

BLOCK_LINES = 40
_TRACEBACK = "Traceback (most recent call last)"
_INSIDE = (" ", "\t")
_MESSAGE_LINES = 6
"""The most indented lines after an exception's own line that count as part of its message."""
_EXCEPTION = re.compile(r"^[A-Za-z_][\w.]*(?:: |$)")
"""The first line after a traceback's frames; an exception's name need not end in Error."""
_COMPLAINT = re.compile(
    r"(?i)\b(error|fatal|failed|failure|cannot|can't|could not|no such|not found|denied|killed|abort(ed)?|panic|"
    r"segmentation fault|core dumped|unbound|invalid|unexpected|unable|out of memory|exception|refused)\b"
)


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a log, numbered from 1."""

    number: int
    text: str


def last_error(lines: Sequence[Line], generic: Sequence[Failure]) -> tuple[Line, ...]:
    """The last traceback that is not a mere wrapper around another, else the last complaint with what led to it.

    Blocks that say the same but for numbers (one worker like the other) count as one: the first is given.
    """
    blocks = _tracebacks(lines)
    telling = [block for block in blocks if not _is_generic(block, generic)] or blocks
    if telling:
        said = _signature(telling[-1])
        return _shortened(next(block for block in telling if _signature(block) == said))
    complaints = [index for index, line in enumerate(lines) if _COMPLAINT.search(line.text)]
    if not complaints:
        return ()
    last = first = complaints[-1]
    known = set(complaints)
    while first - 1 in known and last - first < BLOCK_LINES:
        first -= 1
    return _distinct(lines[first : last + 3])


def _tracebacks(lines: Sequence[Line]) -> list[tuple[Line, ...]]:
    """Every traceback with its exception's message; links of a chain count as blocks of their own."""
    found: list[tuple[Line, ...]] = []
    index = 0
    while index < len(lines):
        if _TRACEBACK not in lines[index].text:
            index += 1
            continue
        start, index = index, index + 1
        while index < len(lines) and lines[index].text.startswith(_INSIDE) and _TRACEBACK not in lines[index].text:
            index += 1
        if index < len(lines) and _TRACEBACK not in lines[index].text:
            index += 1
            end = min(len(lines), index + _MESSAGE_LINES)
            while index < end and lines[index].text.startswith(_INSIDE):
                index += 1
        found.append(tuple(lines[start:index]))
    return found


def _is_generic(block: Sequence[Line], generic: Sequence[Failure]) -> bool:
    return any(pattern.search(_exception(block)) for failure in generic for pattern in failure.patterns)


def _signature(block: Sequence[Line]) -> str:
    return re.sub(r"0x[0-9a-f]+|\d+", "#", _exception(block))


def _exception(block: Sequence[Line]) -> str:
    """The line that names the exception."""
    return next((line.text for line in reversed(block) if _EXCEPTION.match(line.text)), block[-1].text)


def _shortened(block: Sequence[Line]) -> tuple[Line, ...]:
    """The head and the end of a long traceback."""
    return tuple(block) if len(block) <= BLOCK_LINES else (*block[:2], *block[2 - BLOCK_LINES :])


def _distinct(lines: Sequence[Line]) -> tuple[Line, ...]:
    seen: set[str] = set()
    kept = []
    for line in lines:
        signature = re.sub(r"\d+", "#", line.text)
        if signature not in seen:
            seen.add(signature)
            kept.append(line)
    return tuple(kept[-BLOCK_LINES:])
