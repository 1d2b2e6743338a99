"""endpoint/unicode: multi-byte characters arrive intact."""

from __future__ import annotations

import re

from healthcheck.core.check import Findings, NotApplicable
from healthcheck.stages.endpoint.answers import (
    about,
    answer,
    answered,
    plain_answer,
    plain_texts,
    prompt_tokens,
    said,
    shown,
)
from healthcheck.stages.endpoint.likeness import omitted_characters
from healthcheck.stages.endpoint.records import Interview, Pairs, check
from healthcheck.stages.endpoint.streams import counts_hold
from healthcheck.text.degenerate import mojibake
from healthcheck.text.messages import msg

_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
_HELD_BACK = 2
"""Whole characters that a stream may hold back at max_tokens: they share a token with half of another one."""


@check(
    "endpoint/unicode",
    msg("Characters of several bytes arrive whole"),
    why=msg(
        "One token can be a third of a Chinese character: a server that decodes each token separately corrupts it."
    ),
    requires=("endpoint/stream-finish",),
)
def unicode(interview: Interview) -> Findings:
    r"""An answer with Chinese characters and emoji must be the same in a stream as in a plain answer.

    The prompt must have more tokens than it has without these characters; else they are lost before the model.
    U+FFFD in place of a character means that each chunk is decoded separately, and the character was cut between
    two chunks. A missing character means that its halves were dropped; if none arrives at all, something drops
    what is not ASCII. `å¥½` in place of 好 means that UTF-8 is decoded as Latin-1 somewhere. If neither answer
    holds such a character, the check is skipped.

    Repair: decode incrementally, and hold back the bytes of an incomplete character.
    Simulated by: npu-adapter simulate --fault cut-characters (mojibake,
    drops-characters, drops-non-ascii, loses-prompt-characters)

    Example:
    ```http streamed answer
    HTTP/1.1 200 OK
    Content-Type: text/event-stream

    data: {"choices": [{"index": 0, "delta": {"content": "你\ufffd\ufffd"}, "finish_reason": "stop"}]}

    data: [DONE]
    ```

    ```http plain answer
    HTTP/1.1 200 OK
    Content-Type: application/json

    {"choices": [{"index": 0, "message": {"role": "assistant", "content": "你好"}}]}
    ```

    Use instead:

    ```http streamed answer
    HTTP/1.1 200 OK
    Content-Type: text/event-stream

    data: {"choices": [{"index": 0, "delta": {"content": "你好"}, "finish_reason": "stop"}]}

    data: [DONE]
    ```
    """
    foreign = interview.foreign
    stream = foreign.streams[0] if foreign.streams else None
    if stream is None or not answered(stream):
        raise NotApplicable(
            msg("the prompt with Chinese characters was not answered (endpoint/stream-finish)")
        )
    bare, counted = prompt_tokens(interview.bare), prompt_tokens(stream)
    if bare and counted and counted <= bare + 1 and counts_hold(interview):
        expected = msg(
            "more prompt tokens than the {bare} without the Chinese characters", bare=bare
        )
        fix = msg(
            "decode requests as UTF-8; look for a filter in front of the engine, and for its tokenizer"
        )
        yield about(stream).fail(expected=expected, seen=str(counted), fix=fix)
        return
    text = said(stream)
    whole = "".join(reversed(plain_texts(foreign.plains[0])))
    if mojibake(text):
        expected = msg("你好 as 你好")
        seen = msg("UTF-8 that was taken for Latin-1: {text}", text=shown(text))
        yield about(stream).fail(
            expected=expected, seen=seen, fix=msg("decode and encode as UTF-8 all the way")
        )
    elif (
        _REPLACEMENT in text
        and _REPLACEMENT not in whole
        and (_fits(text, whole) or stream.folded.torn)
    ):
        expected = msg("whole characters, as in the plain answer: {whole}", whole=shown(whole, 120))
        seen = msg(
            "{count} replacement characters (U+FFFD): {text}",
            count=text.count(_REPLACEMENT),
            text=shown(text),
        )
        fix = msg("decode incrementally: hold back bytes that do not yet make a character")
        yield about(stream).fail(expected=expected, seen=seen, fix=fix)
    elif lost := _lost(foreign):
        expected = msg("every character of the plain answer: {whole}", whole=shown(whole, 120))
        seen = msg("{text}: {lost} is missing, each time", text=shown(text, 120), lost=repr(lost))
        cut = msg(
            "decode incrementally: a character that is cut between two tokens must not be dropped"
        )
        fix = msg("decode and encode as UTF-8 all the way") if text.isascii() else cut
        yield about(stream).fail(expected=expected, seen=seen, fix=fix)
    elif (text + whole).isascii():
        raise NotApplicable(msg("no answer held a character of several bytes"))


def _lost(foreign: Pairs) -> str:
    """Multi-byte characters that every stream lacks and every plain answer has.

    White space is ignored: lines whose characters were dropped are empty, and the ends of an answer are stripped.
    """
    if len(foreign.streams) < 2 or not all(map(answered, foreign.streams)):
        return ""
    lost = {
        _lacks(_without_space(answer(stream)), _without_space(plain_answer(plain)))
        for stream, plain in zip(foreign.streams, foreign.plains, strict=True)
    }
    one = lost.pop()
    return one if not lost and not any(map(str.isascii, one)) else ""


def _lacks(text: str, whole: str) -> str:
    """The part of `whole` missing in `text`, except a last token (endpoint/stream-equals-plain) or held text."""
    few = len(whole) - len(text) <= _HELD_BACK
    only_shorter = text and whole.startswith(text) and (few or not text.isascii())
    return "" if only_shorter else omitted_characters(text, whole)


def _without_space(text: str) -> str:
    return "".join(text.split())


def _fits(text: str, whole: str) -> bool:
    """Whether the text is the whole one with some characters replaced."""
    ends = {0}  # a regular expression could backtrack exponentially
    for piece in re.split(f"({_REPLACEMENT}+)", text):
        if piece.startswith(_REPLACEMENT):
            ends = {end + size for end in ends for size in range(1, len(piece) + 1)}
        else:
            ends = {end + len(piece) for end in ends if whole.startswith(piece, end)}
    return bool(whole) and len(whole) in ends
