"""endpoint/image: pictures are seen."""

from __future__ import annotations

from healthcheck import contract
from healthcheck.check import Findings, NotApplicable, check, fail, note, warn
from healthcheck.contract import Task
from healthcheck.endpoint.answers import answered, first_choice, plain_texts, prompt_tokens, said, texts
from healthcheck.endpoint.records import Interview
from healthcheck.endpoint.wording import asked, shown, what_came
from healthcheck.records import Stage
from healthcheck.wire.client import Exchange


@check(
    "endpoint/image",
    "Images affect the answer",
    stage=Stage.ENDPOINT,
    why="For this task code the service sends pictures in chat messages.",
    rule=contract.TASK_TYPES,
    requires=("endpoint/stream-finish", "endpoint/degenerate"),
)
def image(interview: Interview) -> Findings:
    """A picture in a message (an image_url with a data address) must be accepted, come into the prompt, and change
    what the model says: four pictures, red, blue, chequered and shaded, are shown with the same question.

    What the model says about them does not matter. Where all four answers are alike, the log-probabilities of two
    of them are compared; where the server gives none, the finding is a warning.

    Repair: serve a vision-language model with its processor files; allow pictures (--limit-mm-per-prompt).
    Simulated by: npu-adapter simulate --fault ignores-images (refuses-images)

    Example:
    ```text answers to “What is the main colour?”
    red picture   → A dog on a meadow.
    blue picture  → A dog on a meadow.
    ```

    Use instead:

    ```text answers to “What is the main colour?”
    red picture   → Red.
    blue picture  → Blue.
    ```
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
