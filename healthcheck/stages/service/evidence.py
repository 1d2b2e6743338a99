"""Judges the error lines of a log: one cause, several possible ones, or only the kind of the last error.

A cause is named if the last error shows it or states it, or if the last error usually follows from others and the
log holds one cause. Every other known failure is at most a possibility.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from itertools import islice, takewhile

from healthcheck.stages.service.blocks import (
    CALL,
    EXCEPTION,
    INSIDE,
    QUOTED,
    RAISED,
    ErrorBlock,
    Line,
    continued,
    is_traceback,
    message,
)
from healthcheck.stages.service.catalogue import Catalogue, Failure, Severity, States
from healthcheck.stages.service.sayings import raised_on_purpose, reason, reason_of_cann
from healthcheck.text.messages import msg

AROUND = 5
"""Lines before and after an error block that still belong to it: CANN writes beside the traceback."""
_SHOWN_LINES = 6
_LINE_CHARACTERS = 600
_OF_PYTHON = re.compile(r'"(?:[^"]*/lib/python3\.\d+/(?!site-packages/|dist-packages/)|<)')
"""Frames of Python's own library tell nothing of whose code failed."""
_OF_PACKAGES = re.compile(
    r'"(?:[^"]*/)?(?:site-packages|dist-packages|vllm|vllm_ascend|vllm-workspace|torch|torch_npu|transformers|transformers_modules)/'
)
"""Frames of vLLM, of what it is built on, and of anything installed; other frames are of an author's file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A known failure at its first place in the log: the matching lines, numbered from 1.

    Attributes:
        stated: the sentence of the error, where it is the cause; for a part of the program, the exception.
        refused: whether that sentence is of a check that says what it refuses.
        advice: what the log itself advises there.
    """

    failure: Failure
    lines: tuple[Line, ...]
    stated: str = ""
    refused: bool = False
    advice: str = ""

    @property
    def cause(self) -> str:
        if not self.stated:
            return self.failure.cause
        if self.failure.severity is Severity.PART:
            return msg(
                "{cause} The error is “{reason}”.", cause=self.failure.cause, reason=self.stated
            )
        if self.refused:
            return msg("A check refused to go on, for the reason “{reason}”.", reason=self.stated)
        return msg("The program ended itself, and says: “{reason}”.", reason=self.stated)


@dataclass(frozen=True, slots=True, kw_only=True)
class _LastError:
    """The last error of a log.

    Attributes:
        near: the lines of any process around the block.
        beside: those of the same process, or of none; every line near where there is no traceback.
        own: the exception and its message; the whole block where there is no traceback.
        told: these, and what CANN adds to them.
    """

    block: ErrorBlock
    near: tuple[Line, ...]
    beside: tuple[Line, ...]
    own: tuple[Line, ...]
    told: tuple[Line, ...]
    traced: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """A cause, or possible causes; the kind of the last error if it shows no cause."""

    cause: Hit | None = None
    candidates: tuple[Hit, ...] = ()
    kind: Hit | None = None


def judged(
    hits: Sequence[Hit], block: ErrorBlock, lines: Sequence[Line], known: Catalogue
) -> Verdict:
    """Judge the failures that were found in a log.

    Args:
        hits: known failures since the server last ran, in the order of the log.
        block: the last error block.
        lines: the last lines.
        known: the catalogue.
    """
    near = around_block(block, lines)
    numbers = {line.number for line in (*near, *block.lines)}
    there = (
        hit
        for hit in hits
        if hit.failure.severity <= Severity.ERROR and hit.lines[0].number in numbers
    )
    best = _best(tuple(_inside(block.lines, known))) or _best((*_inside(near, known), *there))
    error = _last_error(block, near, lines)
    kind = None if best else _kind(known, error)
    last = best or kind
    rivals = _elsewhere(hits, numbers, last)
    passed_on = last.failure.follows if last else block.passed_on or not block.lines
    if not rivals and kind and (stated := _stated(kind, error, known)):
        return Verdict(cause=stated)
    if kind and States.PART in kind.failure.states:
        kind = None
    if not rivals:
        says = (
            hit
            for hit in hits[:1]
            if block.passed_on and not kind and States.LINE in hit.failure.states
        )
        return Verdict(cause=best or next(says, None) or _warning(hits, block), kind=kind)
    if passed_on and len(rivals) == 1:
        return Verdict(cause=rivals[0])
    return Verdict(candidates=(*rivals, best) if best else rivals, kind=kind)


def searched(failure: Failure, text: str, first_line: int) -> Hit | None:
    """The first match of a failure in a text whose first line has the number `first_line`."""
    found = (match for pattern in failure.patterns if (match := pattern.search(text)))
    match = min(found, key=lambda match: match.start(), default=None)
    if not match:
        return None
    start = text.rfind("\n", 0, match.start()) + 1
    end = text.find("\n", match.end())
    number = first_line + text.count("\n", 0, start)
    shown = enumerate(text[start : end if end >= 0 else len(text)].split("\n"), number)
    lines = (
        Line(number=at, text=line[:_LINE_CHARACTERS].strip()) for at, line in shown if line.strip()
    )
    return Hit(failure=failure, lines=tuple(islice(lines, _SHOWN_LINES)))


def around_block(block: ErrorBlock, lines: Sequence[Line]) -> tuple[Line, ...]:
    """The block's lines and those of any process around them; every line if none looks like an error."""
    if not block.lines:
        return tuple(lines)
    first, last = block.lines[0].number - AROUND, block.lines[-1].number + AROUND
    return tuple(line for line in lines if first <= line.number <= last)


def _inside(lines: Sequence[Line], known: Catalogue) -> Iterator[Hit]:
    """The causes that these lines show."""
    causes = (failure for failure in known.failures if failure.severity <= Severity.ERROR)
    return (hit for failure in causes if (hit := _among(failure, lines)))


def _among(failure: Failure, lines: Sequence[Line]) -> Hit | None:
    hit = searched(failure, "\n".join(line.text for line in lines), 1)
    if not hit:
        return None
    return replace(
        hit, lines=tuple(replace(line, number=lines[line.number - 1].number) for line in hit.lines)
    )


def _best(hits: Sequence[Hit]) -> Hit | None:
    """The most specific cause in one block: not a consequence, then by severity, then the first."""
    return min(
        hits,
        key=lambda hit: (hit.failure.follows, hit.failure.severity, hit.lines[0].number),
        default=None,
    )


def _elsewhere(hits: Sequence[Hit], shown: AbstractSet[int], last: Hit | None) -> tuple[Hit, ...]:
    """Fatal causes elsewhere in the log that do not follow from others; one per place."""
    kept, end = list[Hit](), -AROUND
    for hit in hits:
        root = hit.failure.severity is Severity.FATAL and not hit.failure.follows
        if not root or hit.lines[0].number in shown or (last and hit.failure.id == last.failure.id):
            continue
        if hit.lines[0].number > end + AROUND:
            kept.append(hit)
        end = hit.lines[-1].number
    return tuple(kept)


def _warning(hits: Sequence[Hit], block: ErrorBlock) -> Hit | None:
    """A warning, if the log has no other error."""
    warnings = [hit for hit in hits if hit.failure.severity is Severity.WARNING]
    shown = {line.number for hit in warnings for line in hit.lines}
    return warnings[0] if warnings and all(line.number in shown for line in block.lines) else None


def _last_error(block: ErrorBlock, near: tuple[Line, ...], lines: Sequence[Line]) -> _LastError:
    own, traced = message(block.decisive), is_traceback(block.decisive)
    added = continued(block.decisive, lines)
    told = (*own, *added) if traced else near if own else ()
    processes = {"", own[-1].process} if traced else set[str]()
    beside = tuple(line for line in near if line.process in processes) if traced else near
    return _LastError(block=block, near=near, beside=beside, own=own, told=told, traced=traced)


def _kind(known: Catalogue, error: _LastError) -> Hit | None:
    """The kind of the last error: a symptom that it shows, else the kind that its own words name.

    Words of another process, and those of a call that fails after others, stand back behind an exception that has a
    kind of its own and follows from nothing.
    """
    symptoms = known.of(Severity.SYMPTOM)
    own = _first(known.of(Severity.KIND), error.own)
    if not error.traced:
        return _last(symptoms, error.block.lines) or _last(symptoms, error.near) or own
    told = _last(symptoms, error.told) or _last(symptoms, error.block.decisive, error.own)
    root = own is not None and not own.failure.follows
    if root and own and States.PART not in own.failure.states:
        shown = told and (not told.failure.follows or _stands_in(told, error.own))
        return told if shown else own
    around = error.beside if root else error.near
    return told or _last(symptoms, error.block.lines) or _last(symptoms, around) or own


def _stated(kind: Hit, error: _LastError, known: Catalogue) -> Hit | None:
    """The kind as a cause if the last error states it, or the part of the program that raised it."""
    states = kind.failure.states
    alone = kind.failure.severity is Severity.KIND and not kind.failure.follows
    may_say = States.SENTENCE in states or (alone and States.LINE not in states)
    refusal = reason(error.own) or reason_of_cann(error.beside) if may_say else ""
    refused = replace(kind, stated=refusal, refused=True) if refusal else None
    line = _line(kind, error) if States.LINE in states and not refused else None
    if refused or line or States.LINE in states:
        return refused or line
    if alone and (part := _part(error, known)):
        return part
    thrown = raised_on_purpose(error.own) if may_say else ""
    return replace(kind, stated=thrown) if thrown else None


def _line(kind: Hit, error: _LastError) -> Hit | None:
    """The kind, if the last error itself shows it; other lines may tell what was done without."""
    is_symptom = kind.failure.severity is Severity.SYMPTOM
    said = is_symptom or EXCEPTION.match(kind.lines[-1].text)
    return (
        kind if said and _stands_in(kind, error.told) and not _after_another(kind, error) else None
    )


def _after_another(symptom: Hit, error: _LastError) -> bool:
    """Whether an exception of another process goes before the symptom, in lines without a traceback."""
    shown = symptom.lines[-1].number
    process = next((line.process for line in error.told if line.number == shown), "")
    before = [line for line in error.own if line.number < shown and line.process != process]
    others = [line.text for line in before if RAISED.match(line.text)]
    return any(not any(each.search(text) for each in symptom.failure.patterns) for text in others)


def _stands_in(hit: Hit, lines: Sequence[Line]) -> bool:
    return hit.lines[-1].number in {line.number for line in lines}


def _part(error: _LastError, known: Catalogue) -> Hit | None:
    """The part of the program that raised the last error: its words name it, or a frame, the innermost first.

    An error in a file of the author's is of no part.
    """
    said = [line for line in error.own if EXCEPTION.match(line.text)]
    if not said or (error.block.passed_on and QUOTED not in said[-1].text):
        return None
    said = [line for line in said if line.process == said[-1].process]
    before = [
        line
        for line in error.near
        if line.process == said[0].process and line.number < said[0].number
    ]
    traced = takewhile(lambda line: line.text.startswith(INSIDE), reversed(before))
    frames = [line for line in traced if CALL.match(line.text)]
    innermost = next((line for line in frames if not _OF_PYTHON.search(line.text)), None)
    if innermost and not _OF_PACKAGES.search(innermost.text):
        return None
    for line in (*reversed(said), *frames):
        if hit := _first(known.of(Severity.PART), (line,)):
            return replace(hit, lines=tuple(dict.fromkeys((line, said[-1]))), stated=said[-1].text)
    return None


def _last(
    failures: Sequence[Failure], lines: Sequence[Line], ending: Sequence[Line] | None = None
) -> Hit | None:
    """The last symptom, of those that end in the given lines; one that follows from others only if it is alone."""
    found = (hit for failure in failures if (hit := _among(failure, lines)))
    hits = [hit for hit in found if ending is None or _stands_in(hit, ending)]
    return max(hits, key=lambda hit: (not hit.failure.follows, hit.lines[0].number), default=None)


def _first(failures: Sequence[Failure], lines: Sequence[Line]) -> Hit | None:
    return next((hit for failure in failures if (hit := _among(failure, lines))), None)
