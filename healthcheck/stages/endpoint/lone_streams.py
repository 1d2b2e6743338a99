"""Whether the text of a stream that ran alone was changed on its way."""

from __future__ import annotations

from healthcheck.stages.endpoint.answers import answer, answered, plain_answer
from healthcheck.stages.endpoint.likeness import falls_back_into_step
from healthcheck.stages.endpoint.records import Interview, Pairs


def changed_alone(interview: Interview) -> tuple[str, str] | None:
    """A streamed text and the plain one that it should be, if it differs for a while and then matches again.

    Answers that a plain request gives in two ways are not compared: the model itself varies.
    """
    for pairs in (Pairs(streams=interview.streams, plains=interview.plains), interview.lone):
        plains = {plain_answer(plain) for plain in pairs.plains}
        if len(plains) == 1 and len(pairs.plains) > 1:
            (right,) = plains
            for text in map(answer, filter(answered, pairs.streams)):
                if falls_back_into_step(text, right) or _differs_in_space(text, right):
                    return text, right
    return None


def looks_changed(interview: Interview) -> bool:
    """Whether the long streamed answer comes back to the plain one after it parted from it."""
    stream, plain = interview.long, interview.long_plain
    if not (stream and plain and answered(stream)):
        return False
    return falls_back_into_step(answer(stream), plain_answer(plain))


def _differs_in_space(text: str, right: str) -> bool:
    return text != right and text.split() != right.split() and "".join(text.split()) == "".join(right.split())
