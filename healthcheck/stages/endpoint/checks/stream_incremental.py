"""endpoint/stream-incremental: text is streamed incrementally."""

from __future__ import annotations

from healthcheck import contract
from healthcheck.core.check import Findings, NotApplicable, unsettled
from healthcheck.stages.endpoint.answers import about, said
from healthcheck.stages.endpoint.arrivals import (
    PROVABLE_S,
    PROVABLE_TOKENS_PER_S,
    Streaming,
    comparison,
    streaming,
)
from healthcheck.stages.endpoint.records import Interview, check
from healthcheck.stages.endpoint.streams import every_stream
from healthcheck.text.messages import msg

_TELLING_CHARACTERS = 200
_EXPECTED = msg("the first text of a long answer as soon as that of a short one")


@check(
    "endpoint/stream-incremental",
    msg("Text is streamed incrementally"),
    why=msg(
        "An answer that is sent in one burst at its end is not streamed: a proxy's time-out cuts the long ones."
    ),
    rule=contract.CHAT_STREAMING,
    requires=("endpoint/stream-finish",),
)
def stream_incremental(interview: Interview) -> Findings:
    """The events of a stream must be sent while the model generates, not all at the end.

    A burst means that something collects the answer: a wrapper that awaits the whole text, or a proxy that buffers.
    The connection is then silent for as long as the answer takes, and every time-out on the way can end it.

    Late text alone proves nothing: a busy machine delays it, too. But load delays the first text of any answer, and
    a buffer that of a long answer more. So where text comes late, short and long answers are requested in turn. It
    is a failure if the first text of every long answer took longer than that of every short one, by a quarter of
    the long answer's time or more (medians). If only some took longer, the check is inconclusive. It is skipped if
    no long answer takes 2 s longer than a short one, or if more than 100 tokens come in a second: a proxy that is
    slower than its engine looks the same then. If such a server reports vLLM's metrics, these tell when the engine
    had the first token: the check passes if the text of four answers arrives then, and warns if it arrives in the
    last quarter of the engine's time.

    Repair: send each token when it is generated, and switch off buffering in every proxy (nginx: proxy_buffering
    off).
    Simulated by: npu-adapter simulate --fault burst

    Example:
    ```text seconds until each event of a long answer
    5.00  data: {"choices": [{"index": 0, "delta": {"content": "Once"}, …
    5.01  data: {"choices": [{"index": 0, "delta": {"content": " upon"}, …
    5.01  data: {"choices": [{"index": 0, "delta": {"content": " a"}, …
    ```

    Use instead:

    ```text seconds until each event of a long answer
    0.10  data: {"choices": [{"index": 0, "delta": {"content": "Once"}, …
    2.50  data: {"choices": [{"index": 0, "delta": {"content": " upon"}, …
    5.00  data: {"choices": [{"index": 0, "delta": {"content": " a"}, …
    ```
    """
    telling = [each for each in every_stream(interview) if len(said(each)) >= _TELLING_CHARACTERS]
    whole = [each for each in telling if each.folded.deltas == 1]
    fix = msg(
        "send each token when it is generated; switch off buffering in every proxy before the server"
    )
    if whole and len(whole) == len(telling):
        longest = max(len(said(each)) for each in whole)
        seen = msg(
            "each of {whole} answers came in one event, up to {said} characters",
            whole=len(whole),
            said=longest,
        )
        yield about(whole[0]).fail(expected=msg("an answer in many events"), seen=seen, fix=fix)
    else:
        yield from _arrivals(interview, fix)


def _arrivals(interview: Interview, fix: str) -> Findings:
    found, compared = streaming(interview), comparison(interview.turns)
    if found is Streaming.TOO_QUICK:
        why = msg(
            "a long answer took less than {provable_s} s longer than a short one, or had more than "
            "{provable_tokens_per_s} tokens per second: a proxy that is slower than the engine looks the "
            "same",
            provable_s=PROVABLE_S,
            provable_tokens_per_s=PROVABLE_TOKENS_PER_S,
        )
        raise NotApplicable(why)
    if found is Streaming.INCREMENTAL:
        return
    if found is Streaming.BEHIND:
        late = interview.clocked[-1]
        seen = msg(
            "the engine had its first token after {first_s:.2f} s and its last after {whole_s:.2f} s; the first "
            "text came after {text_s:.2f} s",
            first_s=late.first_s,
            whole_s=late.whole_s,
            text_s=late.exchange.arrivals_s[0],
        )
        yield about(late.exchange).warn(expected=_EXPECTED, seen=seen, fix=fix)
        return
    if compared is None:
        seen = msg("no text came in time to compare short and long answers")
        yield unsettled(expected=_EXPECTED, seen=seen, fix=fix)
        return
    times = msg(
        "{first_s:.1f} s until the first text of a long answer, {last_s:.1f} s until its end, "
        "{short_s:.1f} s until the first text of a short one",
        first_s=compared.first_s,
        last_s=compared.last_s,
        short_s=compared.short_s,
    )
    if found is Streaming.HELD_BACK:
        long = interview.turns[-1].long
        yield about(long).fail(
            expected=_EXPECTED,
            seen=msg("{times} (medians of {turns} turns)", times=times, turns=len(interview.turns)),
            fix=fix,
        )
    else:
        seen = msg(
            "{times}, but not in every turn: it is held back, or the machines are too busy",
            times=times,
        )
        yield unsettled(
            expected=_EXPECTED,
            seen=seen,
            fix=msg("try again when less runs beside; {fix}", fix=fix),
        )
