"""probe/truncated: answers end by themselves."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from healthcheck.core.check import Findings, NotApplicable, fail, unsettled, warn
from healthcheck.core.records import Finding
from healthcheck.stages.probe.records import ProbeRun, Sample, check
from healthcheck.stages.probe.results import answers
from healthcheck.stages.probe.results.answers import excerpt, surely
from healthcheck.text.messages import msg

NEVER_ENDS, OPEN = 0.5, 0.1
_CLEARLY_FEWER = 0.5
_OF_OTHERS, _FEW = frozenset({"content_filter", "abort", "error"}), 0.02


@check(
    "probe/truncated",
    msg("Answers end by themselves"),
    why=msg("An answer that is cut at max_tokens is scored by the last number in it."),
)
def truncated(run: ProbeRun) -> Findings:
    """Counts answers with finish_reason "length": they reached max_tokens.

    Expected: none. A cut answer counts as right only if its final answer was already marked. The service's
    max_tokens is unknown; its client's default is 512. Reasoning that does not fit leaves no answer. Where the
    first 64 answers are all cut, the probe asks no further, unless --full or a threshold is given.

    If most answers are cut and show no end (a loop, an end-of-turn token in the text, a follow-up question by the
    model, pages about a school problem), the model never stops, and the check fails. If most are cut while
    reasoning, or more than 10 % without a thought, the accuracy says nothing about the deployment, and the check is
    inconclusive. So it is if more than 10 % say "length" well before max_tokens, which endpoint/max-tokens judges.
    Each share is the lower end of its 95 % interval.

    A finish_reason "content_filter", "abort" or "error" is a warning, and fails above 2 %: a filter in front of the
    engine, or a failure, ended the answer, and the client takes the rest for all of it.

    Repair: for a model that reasons, raise --max-tokens here, raise the context length that deploy.sh asks for, or
    turn reasoning off in the chat template. For a model that never stops, check eos_token_id in
    generation_config.json and the end-of-turn token of the chat template.

    Example:
    ```json the last event of most answers
    {"choices": [{"index": 0, "delta": {"content": " and"}, "finish_reason": "length"}]}
    ```

    Use instead:

    ```json the last event of most answers
    {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
    ```
    """
    answered = [sample for sample in run.samples if not sample.error]
    if not answered:
        raise NotApplicable(msg("no request was answered"))
    yield from _ended_by_others(answered)
    cut = [sample for sample in answered if sample.finish_reason == "length"]
    if not cut:
        return
    reasoned = answers.reasoning(run, cut)
    thoughts = {sample.order for sample in reasoned}
    endless = [
        sample for sample in cut if sample.order not in thoughts and answers.endless(run, sample)
    ]
    going_on = thoughts.union(sample.order for sample in endless)
    most = run.settings.max_tokens
    early = {
        each.order: each for each in cut if each.order not in going_on and _ends_early(each, most)
    }
    talked = [sample for sample in cut if sample.order not in thoughts]
    is_open = surely(cut, answered) > NEVER_ENDS or surely(talked, answered) > OPEN
    undecided: Callable[..., Finding] = unsettled if is_open else warn
    if early:
        yield _said_length(undecided, tuple(early.values()), len(answered), most)
    filled = [sample for sample in cut if sample.order not in early]
    if not filled:
        return
    told = fail if surely(endless, answered) > NEVER_ENDS else undecided
    expected = msg("answers that end before max_tokens")
    thinking = (
        msg(", {reasoned} of them while reasoning", reasoned=len(reasoned)) if reasoned else ""
    )
    rambling = msg(", {endless} going on without end", endless=len(endless)) if endless else ""
    seen = msg(
        "{count} of {answered} were cut at max_tokens={most}{thinking}{rambling}; one ends in {last}",
        count=len(filled),
        answered=len(answered),
        most=most,
        thinking=thinking,
        rambling=rambling,
        last=excerpt(filled[0].text[-60:]),
    )
    fix = msg(
        "give reasoning more room (--max-tokens, --max-model-len), or repair the end-of-turn token"
    )
    yield told(expected=expected, seen=seen, fix=fix)


def _ended_by_others(answered: Sequence[Sample]) -> Findings:
    """Answers that a filter or a failure ended: the client takes what there is for the whole answer."""
    ended = [sample for sample in answered if sample.finish_reason in _OF_OTHERS]
    if not ended:
        return
    told = fail if surely(ended, answered) > _FEW else warn
    seen = msg(
        '{ended} of {answered} have finish_reason "{reason}"; one ends in {last}',
        ended=len(ended),
        answered=len(answered),
        reason=ended[0].finish_reason,
        last=excerpt(ended[0].text[-60:]),
    )
    fix = msg(
        "take the filter in front of the engine out, or look into the server's log for what ended them"
    )
    yield told(expected=msg("answers that end by themselves"), seen=seen, fix=fix)


def _ends_early(sample: Sample, max_tokens: int) -> bool:
    return (
        sample.completion_tokens is not None
        and sample.completion_tokens < _CLEARLY_FEWER * max_tokens
    )


def _said_length(
    told: Callable[..., Finding], early: Sequence[Sample], answered: int, max_tokens: int
) -> Finding:
    """Answers with finish_reason "length" that max_tokens did not cut."""
    first = early[0]
    expected = msg(
        'finish_reason "length" only for answers of max_tokens={max_tokens}', max_tokens=max_tokens
    )
    seen = msg(
        '{early} of {answered} have finish_reason "length" after fewer tokens; one after '
        "{completion_tokens}, ending in {text}",
        early=len(early),
        answered=answered,
        completion_tokens=first.completion_tokens,
        text=excerpt(first.text[-60:]),
    )
    fix = msg(
        'if they ended by themselves, report "stop" (endpoint/max-tokens); if they were cut, raise the context '
        "length, or the limit that the server itself has"
    )
    return told(expected=expected, seen=seen, fix=fix)
