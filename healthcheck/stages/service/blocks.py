"""The error blocks of a log: the tracebacks of each process, and the lines around the last complaint."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, takewhile
from keyword import iskeyword

from healthcheck.stages.service.catalogue import Failure

BLOCK_LINES = 40
_TRACEBACK = "Traceback (most recent call last)"
INSIDE = (" ", "\t")
_CONTINUED_LINES = 30
_CALLS_CANN = re.compile(
    r"\bNPU\b|\b(?:OPS function|acl|Acl|ACL|hccl|Hccl|HCCL|CANN|rt[A-Z])|error code|\bERR\d{5}\b"
)
"""In the line of an exception from a call into CANN."""
_FROM_CANN = re.compile(r"^(?:\s|\[(?:ERROR|Error)\]|E[A-Z\d]\d{4}\b)")
"""The lines that CANN adds to such an exception."""
_MESSAGE_LINES = 6
"""The most indented lines after an exception's own line that count as part of its message."""
EXCEPTION = re.compile(r"^[A-Za-z_][\w.]*(?:: |$)")
"""The first line after a traceback's frames; an exception's name need not end in Error."""
_FRAME = re.compile(r'^\s+File "[^"\n]{1,300}", line \d')
CALL = re.compile(_FRAME.pattern + r"{1,9}, in [\w.<>]{1,200}$")
"""The line of a frame that names a function."""
_BEGINS = re.compile(rf"{re.escape(_TRACEBACK)}|{CALL.pattern}")
"""The first line of a traceback; a log that was cut may begin with a frame."""
RAISED = re.compile(
    r"^[\w.]{0,120}\b[A-Z]\w{0,60}(?:Error|Exception|Failed|Failure|Unsupported\w{0,30}|OutOfResources)(?:: |$)"
)
"""The exception after frames without the heading of a traceback: other words before a colon end no traceback."""
_UNDERLINE = re.compile(r"^[\s^~]*$")
_CAUSED = "The above exception was the direct cause of the following exception"
_MEANWHILE = "During handling of the above exception, another exception occurred"
_IGNORED = "Exception ignored in"
"""Python prints this before a traceback that ended no program."""
QUOTED = "Worker failed with error '"
"""A wrapper that repeats the reason, for logs without the worker's own lines."""
_TEARDOWN = "multiprocessing/resource_tracker.py"
"""A process that cleans up after others have died."""
_COMPLAINT = re.compile(
    r"\b[A-Za-z]\w*(?:Error|Exception|Failed)\b|(?i:\b(error|fatal|failed|failure|cannot|can't|could not|no such|"
    r"not found|denied|killed|abort(ed)?|panic|segmentation fault|core dumped|unbound|invalid|unexpected|unable|"
    r"out of memory|exception|refused|timed out|timeout|not support(ed)?|unsupported|"
    r"has no attribute|got an unexpected)\b)"
)


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a log, numbered from 1.

    Attributes:
        process: the name of the process in its prefix; "" if there is none.
        record: what the lines of one record of the level ERROR begin with; "" at other levels.
    """

    number: int
    text: str
    process: str = ""
    record: str = ""


@dataclass(frozen=True, slots=True)
class ErrorBlock:
    """What a log says about one error.

    Attributes:
        lines: the whole block; every traceback of chained exceptions.
        decisive: the part that names the reason: the original exception of the chain.
        passed_on: whether the whole block only wraps a reason elsewhere in the log.
    """

    lines: tuple[Line, ...]
    decisive: tuple[Line, ...]
    passed_on: bool = False

    @property
    def shown(self) -> tuple[Line, ...]:
        """The decisive part; a long traceback is cut to its head and its end."""
        block = self.decisive
        return block if len(block) <= BLOCK_LINES else (*block[:2], *block[2 - BLOCK_LINES :])


NONE = ErrorBlock((), ())
"""The result for a log without an error."""


def last_error(lines: Sequence[Line], generic: Sequence[Failure]) -> ErrorBlock:
    """The last traceback that is not a mere wrapper around another, else the last complaint and its context.

    Blocks that differ in numbers only (one per worker) count as one: the first is returned.
    """
    blocks = [_joined(chain, generic) for chain in _chains(lines)]
    telling = [block for block in blocks if not block.passed_on]
    telling = (
        telling or [block for block in blocks if QUOTED in _exception(block.decisive)] or blocks
    )
    if telling:
        said = _signature(telling[-1].decisive)
        return next(block for block in telling if _signature(block.decisive) == said)
    complaints = _complaints(lines)
    if not complaints:
        return NONE
    complaints = [
        index for index in complaints if not _is_generic(lines[index : index + 1], generic)
    ] or complaints
    last = first = complaints[-1]
    known = set(complaints)
    while first - 1 in known and last - first < BLOCK_LINES:
        first -= 1
    told = _distinct(lines[first : last + 3])
    return ErrorBlock(told, told, _is_generic(lines[last : last + 1], generic))


def _complaints(lines: Sequence[Line]) -> list[int]:
    """The indices of the lines that complain: by their words, else by their level."""
    said = [index for index, line in enumerate(lines) if _COMPLAINT.search(line.text)]
    return said or [index for index, line in enumerate(lines) if line.record]


def is_traceback(block: Sequence[Line]) -> bool:
    """Whether a block is a traceback, and no mere group of complaints."""
    return bool(block) and bool(_BEGINS.search(block[0].text))


def continued(block: Sequence[Line], lines: Sequence[Line]) -> tuple[Line, ...]:
    """The lines that CANN adds directly after the exception of a traceback, in the same process."""
    if not is_traceback(block) or not _CALLS_CANN.search(_exception(block)):
        return ()
    last = block[-1]
    after = (line for line in lines if line.number > last.number and line.process == last.process)
    return tuple(
        islice(takewhile(lambda line: _FROM_CANN.match(line.text), after), _CONTINUED_LINES)
    )


def message(block: Sequence[Line]) -> tuple[Line, ...]:
    """The exception of a traceback with its message and the code of its last frame, or else the whole block."""
    if not is_traceback(block):
        return tuple(block)
    last = next((at for at in range(len(block) - 1, 0, -1) if EXCEPTION.match(block[at].text)), 0)
    frame = next((at for at in range(last, 0, -1) if _FRAME.match(block[at].text)), 0)
    return tuple(line for line in block[frame + 1 :] if not _UNDERLINE.match(line.text))


@dataclass(frozen=True, slots=True)
class _Link:
    """One traceback, and the sentence that joins it to the previous one."""

    lines: tuple[Line, ...]
    joint: str


def _joined(chain: Sequence[_Link], generic: Sequence[Failure]) -> ErrorBlock:
    """Join chained exceptions into one block."""
    at = len(chain) - 1
    while at and (chain[at].joint == _CAUSED or _is_generic(chain[at].lines, generic)):
        at -= 1
    lines = tuple(line for link in chain for line in link.lines)
    return ErrorBlock(lines, chain[at].lines, _is_generic(chain[at].lines, generic))


def _chains(lines: Sequence[Line]) -> list[list[_Link]]:
    """The tracebacks of all processes, grouped by chain, in the order of their first lines."""
    by_process: dict[str, list[Line]] = {}
    for line in lines:
        by_process.setdefault(line.process, []).append(line)
    chains: list[list[_Link]] = []
    for own in by_process.values():
        earlier = len(chains)
        for link in _tracebacks(own):
            if link.joint and len(chains) > earlier:
                chains[-1].append(link)
            else:
                chains.append([link])
    return sorted(chains, key=lambda chain: chain[0].lines[0].number)


def _tracebacks(lines: Sequence[Line]) -> Iterator[_Link]:
    """Every traceback with its exception's message.

    Leaves out tracebacks that the log breaks off before the exception, and those that Python itself calls ignored.
    """
    index = 0
    while index < len(lines):
        if not _BEGINS.search(lines[index].text):
            index += 1
            continue
        start, index = index, index + 1
        while (
            index < len(lines)
            and lines[index].text.startswith(INSIDE)
            and _TRACEBACK not in lines[index].text
        ):
            index += 1
        index = _raised(lines, index)
        whole = index < len(lines) and _TRACEBACK not in lines[index].text
        if not whole or not (_TRACEBACK in lines[start].text or RAISED.match(lines[index].text)):
            continue
        index += 1
        end = min(len(lines), index + _MESSAGE_LINES)
        while index < end and lines[index].text.startswith(INSIDE):
            index += 1
        before = lines[start - 1].text if start else ""
        if not _ends_nothing(before, lines[start:index]):
            joint = next((words for words in (_CAUSED, _MEANWHILE) if words in before), "")
            yield _Link(tuple(lines[start:index]), joint)


def _raised(lines: Sequence[Line], at: int) -> int:
    """The first line from `at` on, in its record, that names an exception; the record's last line if none does.

    Logs that were pasted have lost the indentation of frames, and some exceptions of libraries their names.
    """
    first = lines[at].record if at < len(lines) else ""
    rest = list(
        takewhile(
            lambda line: first and line.record == first and _TRACEBACK not in line.text, lines[at:]
        )
    )
    names = (
        at + n
        for n, line in enumerate(rest)
        if EXCEPTION.match(line.text) and not iskeyword(line.text)
    )
    return next(names, at + max(0, len(rest) - 1))


def _ends_nothing(before: str, block: Sequence[Line]) -> bool:
    """Whether a traceback is from the shutdown of Python."""
    return before.startswith(_IGNORED) or any(_TEARDOWN in line.text for line in block)


def _is_generic(block: Sequence[Line], generic: Sequence[Failure]) -> bool:
    return any(
        pattern.search(_exception(block)) for failure in generic for pattern in failure.patterns
    )


def _signature(block: Sequence[Line]) -> str:
    return re.sub(r"0x[0-9a-f]+|\d+", "#", _exception(block))


def _exception(block: Sequence[Line]) -> str:
    """The line that names the exception."""
    return next(
        (line.text for line in reversed(block) if EXCEPTION.match(line.text)), block[-1].text
    )


def _distinct(lines: Sequence[Line]) -> tuple[Line, ...]:
    first = {re.sub(r"\d+", "#", line.text): line for line in reversed(lines)}
    return tuple(sorted(first.values(), key=lambda line: line.number))[-BLOCK_LINES:]
