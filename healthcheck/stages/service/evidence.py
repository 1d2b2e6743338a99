"""Judges the error lines of a log: one cause, several possible ones, or only the kind of the last error.

A cause is named if the last error shows it or states it, or if the last error usually follows from others and the
log holds one cause. Every other known failure is at most a possibility.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from itertools import islice, takewhile

from healthcheck.stages.service.blocks import EXCEPTION, INSIDE, QUOTED, ErrorBlock, Line, message
from healthcheck.stages.service.catalogue import Catalogue, Failure, Severity
from healthcheck.stages.service.sayings import raised_on_purpose, reason, reason_of_cann
from healthcheck.text.messages import msg

AROUND = 5
"""Lines before and after an error block that still belong to it: CANN writes beside the traceback."""
_SHOWN_LINES = 5
_LINE_CHARACTERS = 600


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A known failure at its first place in the log: the matching lines, numbered from 1.

    Attributes:
        stated: the sentence of the error, where it is the cause; for a part of the program, the exception.
        advice: what the log itself advises there.
    """

    failure: Failure
    lines: tuple[Line, ...]
    stated: str = ""
    advice: str = ""

    @property
    def cause(self) -> str:
        if self.failure.severity is Severity.PART:
            return msg("{cause} The error is “{reason}”.", self.failure.cause, self.stated)
        reason = msg("A check refused to go on, for the reason “{reason}”.", self.stated)
        return reason if self.stated else self.failure.cause


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """A cause, or possible causes; the kind of the last error if it shows no cause."""

    cause: Hit | None = None
    candidates: tuple[Hit, ...] = ()
    kind: Hit | None = None


def judged(hits: Sequence[Hit], block: ErrorBlock, lines: Sequence[Line], known: Catalogue) -> Verdict:
    """Judge the failures that were found in a log.

    Args:
        hits: known failures since the server last ran, in the order of the log.
        block: the last error block.
        lines: the last lines.
        known: the catalogue.
    """
    near = around_block(block, lines)
    numbers = {line.number for line in (*near, *block.lines)}
    there = (hit for hit in hits if hit.failure.severity <= Severity.ERROR and hit.lines[0].number in numbers)
    best = _best(tuple(_inside(block.lines, known))) or _best((*_inside(near, known), *there))
    kind = None if best else _kind(known, block, near)
    last = best or kind
    rivals = _elsewhere(hits, numbers, last)
    passed_on = last.failure.follows if last else block.passed_on or not block.lines
    if not rivals and kind and (stated := _stated(kind, block, near, known)):
        return Verdict(cause=stated)
    if kind and kind.failure.states == "part":
        kind = None
    if not rivals:
        return Verdict(cause=best or _warning(hits, block), kind=kind)
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
    lines = (Line(number=at, text=line[:_LINE_CHARACTERS].strip()) for at, line in shown if line.strip())
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
    return replace(hit, lines=tuple(replace(line, number=lines[line.number - 1].number) for line in hit.lines))


def _best(hits: Sequence[Hit]) -> Hit | None:
    """The most specific cause in one block: not a consequence, then by severity, then the first."""
    return min(hits, key=lambda hit: (hit.failure.follows, hit.failure.severity, hit.lines[0].number), default=None)


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


def _kind(known: Catalogue, block: ErrorBlock, near: Sequence[Line]) -> Hit | None:
    """The kind of the last error: a symptom that it shows, else the kind that its own words name."""
    symptoms = known.of(Severity.SYMPTOM)
    symptom = _last(symptoms, block.lines) or _last(symptoms, near)
    return symptom or _first(known.of(Severity.KIND), message(block.decisive))


def _stated(kind: Hit, block: ErrorBlock, near: Sequence[Line], known: Catalogue) -> Hit | None:
    """The kind as a cause if the last error states it, or the part of the program that raised it."""
    last, states = message(block.decisive), kind.failure.states
    alone = kind.failure.severity is Severity.KIND and not kind.failure.follows
    may_say = "sentence" in states or (states in {"", "part"} and alone)
    if may_say and (said := reason(last) or reason_of_cann(near)):
        return replace(kind, stated=said)
    shown, is_symptom = kind.lines[-1], kind.failure.severity is Severity.SYMPTOM
    beside = last and (last == block.decisive or shown.number >= last[0].number)
    if "line" in states and beside and (is_symptom or EXCEPTION.match(shown.text)):
        return kind
    part = _part(block, near, known) if alone and "line" not in states else None
    said = raised_on_purpose(last) if may_say and not part else ""
    return replace(kind, stated=said) if said else part


def _part(block: ErrorBlock, near: Sequence[Line], known: Catalogue) -> Hit | None:
    """The part of the program that raised the last error: its words name it, or a frame, the innermost first."""
    said = [line for line in message(block.decisive) if EXCEPTION.match(line.text)]
    if not said or (block.passed_on and QUOTED not in said[-1].text):
        return None
    before = [line for line in near if line.process == said[0].process and line.number < said[0].number]
    frames = takewhile(lambda line: line.text.startswith(INSIDE), reversed(before))
    for line in (*reversed(said), *frames):
        if hit := _first(known.of(Severity.PART), (line,)):
            return replace(hit, lines=tuple(dict.fromkeys((line, said[-1]))), stated=said[-1].text)
    return None


def _last(failures: Sequence[Failure], lines: Sequence[Line]) -> Hit | None:
    """The last symptom; one that follows from other errors only if there is nothing else."""
    hits = [hit for failure in failures if (hit := _among(failure, lines))]
    return max(hits, key=lambda hit: (not hit.failure.follows, hit.lines[0].number), default=None)


def _first(failures: Sequence[Failure], lines: Sequence[Line]) -> Hit | None:
    return next((hit for failure in failures if (hit := _among(failure, lines))), None)
