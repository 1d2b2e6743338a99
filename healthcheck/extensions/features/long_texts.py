"""Texts of the length that the server promises, with a code number in each, and one that is too long."""

from __future__ import annotations

from collections.abc import Callable

from healthcheck.core.progress import Progress
from healthcheck.extensions.features.records import (
    BEYOND,
    CODES,
    FIRST,
    LAST,
    MIDDLE,
    SHORT,
    Answer,
    Body,
)
from healthcheck.text.messages import msg

PATIENCE_S = 60.0
"""For each of the three long texts, by the speed at which the server read a shorter one."""
_PLACES = {FIRST: 0.1, MIDDLE: 0.5, LAST: 0.9}
_LINE = "The river runs past the mill, and the miller counts the sacks of flour once more.\n"
_FEW, _SOME, _SHARE = 4, 250, 100
LEAST = (_FEW + 1) * _SHARE
MOST_TOKENS, _MOST_MB = 10**7, 64
_MOST_LINES = _MOST_MB * 10**6 // (len(_LINE) + 1)


def ask_long(
    ask: Callable[[Body], Answer], length: int, progress: Progress
) -> tuple[dict[str, Answer], int]:
    """The answers by the names of the texts, and the tokens of the longest; the short text comes first.

    Long texts are not sent to a model that overlooks the number in the short one, nor to a server that does not
    count tokens.
    """
    room = min(1024, length // 8)
    short = ask(text_with(_FEW, CODES[SHORT], 0.5, room))
    answers = {SHORT: short}
    some = min(_SOME, length // _SHARE)
    timed = ask(text_with(some, "", 0.5, 1))
    if timed.read is None or short.read is None or some <= _FEW:
        return answers, 0
    each = max((timed.read - short.read) / (some - _FEW), 1)
    whole, speed = min(length, MOST_TOKENS) - room, timed.read / max(timed.seconds, 0.001)
    lines = max(min(int(min(0.98 * whole, speed * PATIENCE_S) / each), _MOST_LINES) - _FEW, 1)
    if 11 * length < 10 * each * (_MOST_LINES - 2 * _FEW):
        answers[BEYOND] = ask(text_with(int(1.1 * length / each) + _FEW, "", 0.5, 1))
    else:
        answers[BEYOND] = Answer(
            status=0, said=msg("not sent: its text would have over {size} MB", size=_MOST_MB)
        )
    if CODES[SHORT] not in short.text:
        return answers, 0
    for done, (name, share) in enumerate(_PLACES.items()):
        progress.update(name, done=done, total=len(_PLACES))
        answers[name] = ask(text_with(lines, CODES[name], share, room))
    return answers, round(lines * each)


def text_with(lines: int, code: str, share: float, room: int) -> Body:
    """The request for the code number behind this share of the lines, in at most `room` tokens."""
    before = round(lines * share)
    told = f"The code number is {code}.\n" if code else ""
    text = f"{_LINE * before}{told}{_LINE * (lines - before)}\nWhat is the code number? Answer with it alone."
    return {"messages": [{"role": "user", "content": text}], "max_tokens": room}
