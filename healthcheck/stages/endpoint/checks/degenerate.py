"""endpoint/degenerate: answers are text."""

from __future__ import annotations

from healthcheck.core.check import Findings, NotApplicable, note
from healthcheck.stages.endpoint.answers import about, answered, said, shown
from healthcheck.stages.endpoint.records import Interview, check
from healthcheck.text import degenerate as signs
from healthcheck.text.messages import msg
from healthcheck.wire.client import Exchange

_SIGNS = (
    "constant",
    "bad_codepoints",
    signs.UNDECODED,
    "mixed_scripts",
    "tail_loop",
    "compressible",
)
_TELLING_CHARACTERS = 16
_FEWEST = 3


@check(
    "endpoint/degenerate",
    msg("Answers are text, not garbage"),
    why=msg(
        'A deployment that answers "!!!!" or loops starts, streams and stops like a healthy one.'
    ),
    requires=("endpoint/stream-finish",),
)
def degenerate(interview: Interview) -> Findings:
    """Searches the complete answers at temperature 1 for signs that a weak model does not explain: one repeated
    character, a repeated passage, bytes that are not text, token markers (▁, Ġ, <0x0A>) or mojibake in place of
    text, letters of four scripts. The check fails only if both a
    long story and a small problem show a sign, because a model made for one kind of prompt may loop on another.

    Answers at temperature 0 and beyond their end (ignore_eos) do not count: small healthy models loop there. Words
    that make no sense do not count either. probe/degenerate counts how often the signs occur among hundreds of
    answers.

    Repair: try in this order, and keep the first that helps: --dtype bfloat16, no quantisation, --enforce-eager,
    --tensor-parallel-size 1.
    Simulated by: npu-adapter simulate --fault garbage (falls-into-a-loop, token-markers)

    Example:
    ```text answer to “Write a story.”
    !!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!
    ```

    Use instead:

    ```text answer to “Write a story.”
    The old keeper climbed the stairs of the lighthouse, lit the lamp once more, and listened to the sea.
    ```
    """
    short = [exchange for exchange in interview.sampling.warm if _telling(exchange)]
    long = [exchange for exchange in interview.stories if _telling(exchange)]
    if not long or len(short) + len(long) < _FEWEST:
        raise NotApplicable(
            msg("too few answers at temperature 1, or too short, to tell text from garbage")
        )
    spoilt = [exchange for exchange in long if _signs(exchange)]
    if not spoilt:
        return
    found = sorted({sign for exchange in spoilt for sign in _signs(exchange)})
    seen = msg(
        "{signs} in {spoilt} of {stories} long answers",
        signs=", ".join(found),
        spoilt=len(spoilt),
        stories=len(interview.stories),
    )
    last = shown(said(spoilt[0])[-160:])
    if len(spoilt) < len(interview.stories):
        yield note(msg("{seen}: {last}; probe/degenerate judges how often", seen=seen, last=last))
        return
    as_well = sum(bool(_signs(each)) for each in short)
    seen = msg(
        "{seen} and {bool} of {short} short ones: {last}",
        seen=seen,
        bool=as_well,
        short=len(short),
        last=last,
    )
    fix = next(
        (signs.REPAIRS[sign] for sign in _signs(spoilt[0]) if sign in signs.REPAIRS), signs.GARBAGE
    )
    yield about(spoilt[0]).fail(expected=msg("answers that are text"), seen=seen, fix=fix)


def _telling(exchange: Exchange) -> bool:
    return answered(exchange) and len(said(exchange)) >= _TELLING_CHARACTERS


def _signs(exchange: Exchange) -> tuple[str, ...]:
    cut = exchange.folded.finish_reason == "length"
    return tuple(name for name in signs.flags(said(exchange), cut=cut) if name in _SIGNS)
