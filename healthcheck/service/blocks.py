"""The last error block of a log: the traceback, or else the lines around the last complaint."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from healthcheck.service.catalogue import Failure

BLOCK_LINES = 40
_TRACEBACK = re.compile(r"Traceback \(most recent call last\)|^\s*File \"[^\"]+\", line \d+")
_CHAIN = re.compile(r"^(During handling of the above exception|The above exception was the direct cause)")
_EXCEPTION = re.compile(r"^([A-Za-z_][\w.]*(Error|Exception|Exit|Interrupt|Warning|Timeout|Fault|Failure)\w*)(:|$)")
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
    """The last traceback that is no mere wrapper around another, else the last complaint with what led to it.

    Blocks that say the same but for numbers (one worker like the other) count as one: the first is given.
    """
    blocks = _tracebacks(lines)
    telling = [block for block in blocks if not _is_generic(block, generic)] or blocks
    if telling:
        last = _signature(telling[-1])
        return _shortened(next(block for block in telling if _signature(block) == last))
    complaints = [index for index, line in enumerate(lines) if _COMPLAINT.search(line.text)]
    if not complaints:
        return ()
    first, last_index = complaints[-1], complaints[-1]
    while first - 1 in complaints and last_index - first < BLOCK_LINES:
        first -= 1
    return _distinct(lines[first : last_index + 3])


def _tracebacks(lines: Sequence[Line]) -> list[tuple[Line, ...]]:
    """Every traceback with its exception line; links of a chain count as blocks of their own."""
    found: list[tuple[Line, ...]] = []
    current: list[Line] = []
    for line in lines:
        if "Traceback (most recent call last)" in line.text:
            current = [line]
        elif current:
            current.append(line)
            if _EXCEPTION.match(line.text) and not line.text.startswith((" ", "\t")):
                found.append(tuple(current))
                current = []
    if current:
        found.append(tuple(current))
    return found


def _is_generic(block: Sequence[Line], generic: Sequence[Failure]) -> bool:
    last = block[-1].text
    return any(pattern.search(last) for failure in generic for pattern in failure.patterns)


def _signature(block: Sequence[Line]) -> str:
    return re.sub(r"\d+|0x[0-9a-f]+", "#", block[-1].text)


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
