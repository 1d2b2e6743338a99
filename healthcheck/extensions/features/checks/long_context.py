"""features/long-context: the whole promised length is read, and more is refused."""

from __future__ import annotations

from healthcheck.core.check import Findings, NotApplicable, check, fail, note, unsettled
from healthcheck.core.records import Finding
from healthcheck.extensions.features.judgement import cut
from healthcheck.extensions.features.long_texts import LEAST
from healthcheck.extensions.features.records import BEYOND, CODES, SHORT, Answer, FeaturesRun
from healthcheck.extensions.features.schema import quoted
from healthcheck.extensions.features.stage import FEATURES
from healthcheck.text.messages import msg

_SHORTER = msg(
    "promise less (--max-model-len), or set what the model needs for it, such as its rope scaling"
)
_REFUSE = msg("have the server refuse what is too long, with HTTP 400, in place of cutting it")
_OPEN = msg(
    "look for the cause in the server's log, or for a body limit or a time-out of a proxy, or promise less "
    "(--max-model-len)"
)


@check(
    "features/long-context",
    msg("The promised length is read, and more is refused"),
    stage=FEATURES,
    why=msg(
        "A client fills the promised length, and nobody notices what is cut or overlooked there."
    ),
)
def long_context(run: FeaturesRun) -> Findings:
    """A text as long as `max_model_len` of /v1/models allows has a code number at 10, at 50 and at 90 % of it, and
    the answer has to name it. A text that is a tenth longer has to be refused with HTTP 4xx.

    Where the server reads so slowly that a text would take over a minute, the texts are shorter, and a note says
    how long they were. A model that overlooks the number in a short text as well is asked no further: the check is
    skipped, unless what is too long was not refused.

    Repair: `--max-model-len` that the model was made for, or what its publisher sets for longer texts.

    Example:
    ```json a number at 50 %
    {"choices": [{"message": {"content": "There is no code number."}, "finish_reason": "stop"}]}
    ```

    Use instead:

    ```json a number at 50 %
    {"choices": [{"message": {"content": "9627"}, "finish_reason": "stop"}]}
    ```
    """
    if run.length and run.length < LEAST:
        raise NotApplicable(
            msg("the context has no room for a long text: {length} tokens", length=run.length)
        )
    if BEYOND not in run.answers:
        raise NotApplicable(
            msg("the server does not say its length (max_model_len), or counts no prompt tokens")
        )
    findings: list[Finding] = []
    beyond = run.answers[BEYOND]
    if not beyond.refused:
        expected = msg("HTTP 4xx for more than {length} tokens", length=run.length)
        taken = fail(expected=expected, seen=_seen(beyond), fix=_REFUSE, where=BEYOND)
        lost = unsettled(expected=expected, seen=_seen(beyond), fix=_OPEN, where=BEYOND)
        findings.append(taken if beyond.status == 200 else lost)
    for name, answer in run.answers.items():
        if CODES.get(name, "") in answer.text or name == SHORT:
            continue
        expected = msg("{code} from a text of {tried} tokens", code=CODES[name], tried=run.tried)
        lost = fail(expected=expected, seen=_seen(answer), fix=_SHORTER, where=name)
        findings.append(cut(name, answer) if answer.finish == "length" else lost)
    if not run.tried and not findings:
        short = run.answers[SHORT]
        if short.finish == "length":
            raise NotApplicable(
                msg(
                    "cut off after {tokens} tokens: {text}",
                    tokens=short.tokens,
                    text=quoted(short.text),
                )
            )
        raise NotApplicable(
            msg(
                "the model does not repeat a number from a short text: {text}",
                text=quoted(short.text),
            )
        )
    yield from findings
    yield note(msg("texts of {tried} of {length} tokens", tried=run.tried, length=run.length))


def _seen(answer: Answer) -> str:
    return msg(
        "HTTP {status}, {read} prompt tokens, {said}",
        status=answer.status,
        read=answer.read or 0,
        said=answer.said or quoted(answer.text),
    )
