"""endpoint/long-prompt: a long prompt is processed whole or refused."""

from __future__ import annotations

from healthcheck import contract
from healthcheck.core.check import Findings, NotApplicable
from healthcheck.core.records import Finding
from healthcheck.stages.endpoint.answers import (
    about,
    answered,
    context_tokens,
    prompt_tokens,
    repeats,
    response_of,
    said,
    shown,
    token_limit,
    too_long,
)
from healthcheck.stages.endpoint.conversation import MUTE
from healthcheck.stages.endpoint.prompts import FILLER
from healthcheck.stages.endpoint.records import Interview, Step, check
from healthcheck.stages.endpoint.streams import counts_hold, ended, tokens_per_unit
from healthcheck.text.messages import msg

_LOST_SHARE = 0.1
_FIX = msg(
    "raise the limit on input tokens (--max-model-len), and refuse longer prompts instead of cutting them"
)


@check(
    "endpoint/long-prompt",
    msg("A long prompt is processed whole or refused"),
    why=msg(
        "A prompt that is cut silently loses its question or its examples; the answer is scored all the same."
    ),
    rule=contract.CHAT_STREAMING,
    requires=("endpoint/stream-finish",),
)
def long_prompt(interview: Interview) -> Findings:
    """A prompt of about 5000 tokens, or five eighths of the model's context length, must reach the model whole.

    The same prompt is sent with one, three, and more units of the same text. Each unit must add as many tokens as
    the one before; a tenth less means that the prompt was cut. The parts that occur once (the code word, the
    question, the chat template's own tokens) cancel out in the differences. Whatever the counts are, a model that
    repeats a code word from a short prompt should repeat it from a long one; if it repeats neither of two, the
    check warns. So it does if the model repeats a word from the middle of the longest prompt and, of three words,
    none from its beginning.

    A server may refuse a prompt that exceeds its context length with status 400. A server that reports no context
    length and answers 200 without text warns: the evaluation client scores that as an answer.

    Repair: raise the limit on input tokens (--max-model-len), and refuse longer prompts instead of cutting them.
    Simulated by: npu-adapter simulate --fault cuts-prompt (long-prompt-500, halves-prompt, cuts-at-4096,
    drops-middle, counts-lost-half, counts-lost-beginning)

    Example:
    ```text prompt tokens of a growing prompt
     100  with   1 unit of text
     180  with   3 units
    1060  with  25 units
    2030  with 100 units
    ```

    Use instead:

    ```text prompt tokens of a growing prompt
     100  with   1 unit of text
     180  with   3 units
    1060  with  25 units
    4060  with 100 units
    ```
    """
    if not interview.steps:
        raise NotApplicable(msg("no long prompt was tried"))
    each = tokens_per_unit(interview.steps) if counts_hold(interview) else None
    for step in interview.steps:
        if not answered(step.exchange):
            yield _refusal(interview, step, each)
            return
    if len(interview.steps) <= 2:
        raise NotApplicable(
            msg("the context has no room for a prompt longer than the others of this interview")
        )
    counted = each is not None and all(prompt_tokens(step.exchange) for step in interview.steps)
    cut = _cut(interview.steps, each) if each and counted else None
    if cut:
        yield cut
        return
    word = interview.conversation.word if interview.conversation else ""
    first, *_, middle, last = interview.steps
    if not repeats(word, first.exchange):
        if counted:
            return
        raise NotApplicable(MUTE)
    if not repeats(word, middle.exchange) and not repeats(word, last.exchange):
        expected = msg(
            "the code word {word} from the middle of {units} characters",
            word=repr(word),
            units=last.units * len(FILLER),
        )
        end, half = (shown(said(step.exchange), 80) for step in (last, middle))
        seen = msg(
            "{whole}; of {units}: {half}", whole=end, units=middle.units * len(FILLER), half=half
        )
        fix = msg(
            "look for an input limit that cuts the prompt; the model may also have forgotten the word"
        )
        yield about(last.exchange).warn(expected=expected, seen=seen, fix=fix)
    elif interview.beginnings and not any(
        repeats(each, exchange) for each, exchange in interview.beginnings
    ):
        early, exchange = interview.beginnings[-1]
        if not ended(exchange) and not ended(first.exchange):
            return  # thoughts that were cut may come to the word later
        expected = msg(
            "the code word {word} from the beginning of {units} characters",
            word=repr(early),
            units=last.units * len(FILLER),
        )
        seen = msg(
            "{said}, and none of {words} words; from the middle the model repeats {word}",
            said=shown(said(exchange), 80),
            words=len(interview.beginnings),
            word=word,
        )
        yield about(exchange).warn(expected=expected, seen=seen, fix=_FIX)


def _refusal(interview: Interview, step: Step, each: float | None) -> Finding:
    """A failure, unless the prompt may exceed the context; then a missing answer is a warning.

    Raises:
        NotApplicable: the prompt was refused as too long.
    """
    context, shortest = context_tokens(interview.models), prompt_tokens(interview.steps[0].exchange)
    size = shortest + each * (step.units - 1) if shortest and each else None
    fits = bool(size and context and size + token_limit(step.exchange) < context)
    if too_long(step.exchange) and not fits:
        raise NotApplicable(
            msg(
                "the server refuses such a long prompt: {response}",
                response=response_of(step.exchange),
            )
        )
    told = (
        msg("{size:.0f} tokens", size=size)
        if size
        else msg("{units} characters", units=step.units * len(FILLER))
    )
    judge = about(step.exchange).fail
    if context is None and step.exchange.status == 200:
        judge = about(
            step.exchange
        ).warn  # the prompt may exceed a context length that the server does not report
    expected = msg(
        "an answer to a prompt of {told}; the context is {context}",
        told=told,
        context=context or msg("unknown"),
    )
    fix = msg("raise --max-model-len, or find in the server's log why long prompts fail")
    return judge(expected=expected, seen=response_of(step.exchange), fix=fix)


def _cut(steps: tuple[Step, ...], each: float) -> Finding | None:
    """The first prompt that has a tenth fewer tokens than its units add up to."""
    counts = [prompt_tokens(step.exchange) or 0 for step in steps]
    for step, count in zip(steps[2:], counts[2:], strict=True):
        more = each * (step.units - steps[0].units)
        if count - counts[0] < (1 - _LOST_SHARE) * more - each:
            expected = msg(
                "about {counts:.0f} prompt tokens: {each:.1f} for each of {units} units",
                counts=counts[0] + more,
                each=each,
                units=step.units,
            )
            seen = msg("{count}: the rest of the prompt was cut without an error", count=count)
            return about(step.exchange).fail(expected=expected, seen=seen, fix=_FIX)
    return None
