"""Is everything heard that was said: earlier turns, the system message, the whole of a long prompt, pictures?"""

from __future__ import annotations

from healthcheck import contract
from healthcheck.check import Findings, NotApplicable, check, fail, note, warn
from healthcheck.contract import Task
from healthcheck.endpoint.prompts import FILLER_WORDS
from healthcheck.endpoint.records import (
    Conversation,
    Interview,
    answered,
    context_tokens,
    counts_hold,
    first_choice,
    plain_texts,
    prompt_tokens,
    said,
    texts,
)
from healthcheck.endpoint.wording import asked, shown, what_came
from healthcheck.records import Stage
from healthcheck.wire.client import Exchange

_HEARD_SHARE = 0.9
_CONTEXT_WORDS = ("context", "too long", "maximum", "max_model_len", "exceed", "length")


@check(
    "endpoint/multi-turn",
    "Earlier turns are heard",
    stage=Stage.ENDPOINT,
    why="The service's sample task gives four worked examples as earlier turns of a conversation.",
    rule=contract.CLIENT_IS_AISBENCH,
    requires=("endpoint/stream-finish",),
)
def multi_turn(interview: Interview) -> Findings:
    """A request with several turns must be answered with all of them in the prompt.

    Whether they are is read off the count of prompt tokens, which must grow with them, not off the wisdom of the
    answer. Where the server counts nothing, a model that repeats a code word within one message must do so across
    turns as well; one that cannot is not judged.

    Repair: apply the model's chat template to the whole list of messages.
    Simulated by: npu-adapter simulate --fault forgets-history (refuses-history)
    """
    talk = _conversation(interview)
    for exchange in (talk.shots, talk.history):
        if exchange.status != 200:
            yield fail(
                expected="an answer to a conversation of several turns",
                seen=what_came(exchange),
                fix="apply the model's chat template to the whole list of messages",
                where=asked(exchange),
            )
            return
    yield from _heard(interview, talk, talk.history, "an earlier turn")


@check(
    "endpoint/system-role",
    "The system message is heard",
    stage=Stage.ENDPOINT,
    why="Some data sets instruct the model in a system message.",
    rule=contract.CLIENT_IS_AISBENCH,
    requires=("endpoint/stream-finish",),
)
def system_role(interview: Interview) -> Findings:
    """A system message must come into the prompt; judged as earlier turns are (endpoint/multi-turn).

    Some models' templates refuse the role. The service's sample task sends none, so a refusal is a warning.

    Repair: use a chat template that has a place for the system message.
    Simulated by: npu-adapter simulate --fault forgets-system (refuses-system)
    """
    talk = _conversation(interview)
    if talk.system.status != 200:
        yield warn(
            expected="an answer to a conversation with a system message",
            seen=what_came(talk.system),
            fix="use a chat template that has a place for the system message, or join it to the first user message",
            where=asked(talk.system),
        )
        return
    yield from _heard(interview, talk, talk.system, "the system message")


def _conversation(interview: Interview) -> Conversation:
    if interview.conversation is None:
        raise NotApplicable("no conversation was tried")
    return interview.conversation


def _counts(interview: Interview, talk: Conversation) -> bool:
    """Whether the server counts prompt tokens such that a longer prompt has more of them."""
    alone, same = prompt_tokens(talk.alone), prompt_tokens(talk.same)
    return bool(alone and same and same - alone >= FILLER_WORDS // 3 and counts_hold(interview))


def _heard(interview: Interview, talk: Conversation, exchange: Exchange, what: str) -> Findings:
    """Whether the prompt grew by what was said before, or else the code word came back."""
    alone, grown = prompt_tokens(talk.alone), prompt_tokens(exchange)
    able, recalls = _recalls(talk, talk.same), _recalls(talk, exchange)
    fix = "apply the model's chat template to the whole list of messages"
    if alone and grown and _counts(interview, talk):
        if grown - alone < FILLER_WORDS // 3:
            yield fail(
                expected=f"{what} in the prompt: some {FILLER_WORDS} words more than the {alone} tokens without",
                seen=f"{grown} prompt tokens with it",
                fix=fix,
                where=asked(exchange),
            )
        return
    if recalls:
        return
    if not able or _recalls(talk, talk.alone):
        raise NotApplicable(
            "the server counts no prompt tokens, and the model does not repeat a code word when told"
        )
    yield fail(
        expected=f"the code word {talk.word!r} from {what}; within one message the model repeats it",
        seen=shown(said(exchange)),
        fix=fix,
        where=asked(exchange),
    )


def _recalls(talk: Conversation, exchange: Exchange) -> bool:
    return talk.word in said(exchange)


@check(
    "endpoint/long-prompt",
    "A long prompt is taken whole or refused",
    stage=Stage.ENDPOINT,
    why="A prompt that is cut in silence loses its question or its examples; the answer is scored all the same.",
    rule=contract.CHAT_STREAMING,
    requires=("endpoint/stream-finish",),
)
def long_prompt(interview: Interview) -> Findings:
    """A prompt of some 5000 tokens, or half of the model's context, must be heard in full. The count of prompt
    tokens tells: the same paragraph many times over must count many times. Where the server counts nothing, a code
    word at the beginning must come back, if the model repeats one at all.

    A server that says with status 400 that a prompt is too long for its context is in order.

    Repair: raise the limit on input tokens (--max-model-len), and refuse what is longer instead of cutting it.
    Simulated by: npu-adapter simulate --fault cuts-prompt (long-prompt-500)
    """
    talk = _conversation(interview)
    alone, same, far = prompt_tokens(talk.alone), prompt_tokens(talk.same), prompt_tokens(talk.far)
    counted = bool(alone and same) and _counts(interview, talk)
    expected = alone + (same - alone) * talk.far_paragraphs if alone and same and counted else None
    if talk.far.status != 200:
        words = talk.far.body.decode("utf-8", "replace").lower()
        context = context_tokens(interview)
        if talk.far.status in {400, 413, 422} and not context and any(word in words for word in _CONTEXT_WORDS):
            raise NotApplicable(f"the server refuses such a long prompt: {what_came(talk.far)}")
        yield fail(
            expected=f"an answer to a prompt of {expected or 5000} tokens; the context is {context or 'unknown'}",
            seen=what_came(talk.far),
            fix="raise --max-model-len, or find in the server's log why long prompts fail",
            where=asked(talk.far),
        )
        return
    if expected and far:
        # One paragraph more or less is the words around them, which `same` counts once.
        if far < _HEARD_SHARE * expected - (same or 0):
            yield fail(
                expected=f"about {expected} prompt tokens, of {talk.far_paragraphs} paragraphs",
                seen=f"{far} prompt tokens: the rest of the prompt was cut without a word",
                fix="raise the limit on input tokens, and refuse what is longer instead of cutting it",
                where=asked(talk.far),
            )
        return
    if not _recalls(talk, talk.same):
        raise NotApplicable(
            "the server counts no prompt tokens, and the model does not repeat a code word when told"
        )
    if not _recalls(talk, talk.far):
        yield warn(
            expected=f"the code word {talk.word!r} from the beginning of a long prompt",
            seen=shown(said(talk.far)),
            fix="see that no input limit cuts the prompt; it may also be that the model forgot",
            where=asked(talk.far),
        )


@check(
    "endpoint/image",
    "Pictures are seen",
    stage=Stage.ENDPOINT,
    why="For this task code the service sends pictures in chat messages.",
    rule=contract.TASK_TYPES,
    requires=("endpoint/stream-finish",),
)
def image(interview: Interview) -> Findings:
    """A picture in a message (an image_url with a data address) must be accepted, come into the prompt, and change
    what the model says: four pictures, red, blue, chequered and shaded, are shown with the same question.

    What the model says about them does not matter. Where all four answers are alike, the log-probabilities of two
    of them are compared; where the server gives none, the finding is a warning.

    Repair: serve a vision-language model with its processor files; allow pictures (--limit-mm-per-prompt).
    Simulated by: npu-adapter simulate --fault ignores-images (refuses-images)
    """
    if interview.task is Task.TEXT_GENERATION:
        raise NotApplicable("the task is text-generation: no pictures")
    if interview.shown is None:
        raise NotApplicable("no picture was shown")
    streams, without = interview.shown.streams, interview.shown.without
    bad = next((exchange for exchange in streams if not answered(exchange)), None)
    if bad:
        yield fail(
            expected="an answer to a message with a picture",
            seen=what_came(bad),
            fix="serve a vision-language model with its processor files; allow pictures (--limit-mm-per-prompt)",
            where=asked(bad),
        )
        return
    if len({texts(exchange) for exchange in streams}) > 1:
        return
    bare, counted = prompt_tokens(without), prompt_tokens(streams[0])
    seen = f"the same answer to four pictures: {shown(said(streams[0]), 120)}"
    fix = "see that image_url parts reach the model's processor"
    if bare and counted and counted <= bare:
        yield fail(
            expected=f"more prompt tokens than the {bare} without a picture",
            seen=f"{counted} with one, and {seen}",
            fix=fix,
            where=asked(streams[0]),
        )
        return
    certainties = {_certainty(exchange) for exchange in interview.shown.plain}
    if len(certainties) > 1 and None not in certainties:
        yield note("the pictures change the log-probabilities, though not the answer")
    elif certainties == {None} or len({plain_texts(exchange) for exchange in interview.shown.plain}) > 1:
        yield warn(expected="an answer that depends on the picture", seen=seen, fix=fix, where=asked(streams[0]))
    else:
        yield fail(
            expected="log-probabilities that depend on the picture",
            seen=f"{seen}, with the same log-probabilities",
            fix=fix,
            where=asked(streams[0]),
        )


def _certainty(exchange: Exchange) -> str | None:
    """The log-probabilities of a plain answer as text, None where it has none."""
    logprobs = first_choice(exchange).get("logprobs")
    return str(logprobs) if logprobs else None
