"""Whether the text of a stream that ran alone was changed on its way."""

from __future__ import annotations

from healthcheck.stages.endpoint.answers import answer, answered, plain_answer
from healthcheck.stages.endpoint.likeness import differs_only_locally
from healthcheck.stages.endpoint.records import Interview, Pairs

_TEXTS = 2
"""Different changed texts. One may be a near tie that another user's request decided."""


def changed_alone(interview: Interview) -> tuple[str, str] | None:
    """A streamed text and the plain one that it should be, if streams differ from it for a while and match again.

    Answers that a plain request gives in two ways are not compared: the model itself varies. Nor is one that lacks
    the marks of the thoughts before it, which is as a parser leaves it.
    """
    for pairs in (Pairs(streams=interview.streams, plains=interview.plains), interview.lone):
        plains = {plain_answer(plain) for plain in pairs.plains}
        if len(plains) == 1 and len(pairs.plains) > 1:
            (right,) = plains
            texts = [
                text
                for text in map(answer, filter(answered, pairs.streams))
                if not right.endswith(text)
            ]
            changed = {text for text in texts if differs_only_locally(text, right)}
            spaced = {text for text in texts if _differs_in_space(text, right)}
            always = len(texts) == len(pairs.streams) and (len(changed) == 1 or len(spaced) == 1)
            if len(changed) >= _TEXTS or always:
                return (changed or spaced).pop(), right
    return None


def looks_changed(interview: Interview) -> bool:
    """Whether the long streamed answer comes back to the plain one after it parted from it."""
    stream, plain = interview.long, interview.long_plain
    if not (stream and plain and answered(stream)):
        return False
    return differs_only_locally(answer(stream), plain_answer(plain))


def _differs_in_space(text: str, right: str) -> bool:
    return text.split() != right.split() and "".join(text.split()) == "".join(right.split())
