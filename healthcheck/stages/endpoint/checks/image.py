"""endpoint/image: pictures are seen."""

from __future__ import annotations

import re
from collections.abc import Sequence

from healthcheck import contract
from healthcheck.contract import Task
from healthcheck.core.check import Findings, NotApplicable, note
from healthcheck.stages.endpoint.answers import (
    about,
    answered,
    first_choice,
    plain_texts,
    prompt_tokens,
    response_of,
    said,
    shown,
    texts,
)
from healthcheck.stages.endpoint.records import Interview, check
from healthcheck.text.messages import msg
from healthcheck.wire.client import Exchange

_COLOURS = tuple(
    re.compile(names, re.IGNORECASE) for names in (r"\bred\b|[红紅]", r"\bblue\b|[蓝藍]")
)
"""Of the first two images. A model that sees nothing may say that the image is black."""


@check(
    "endpoint/image",
    msg("Images affect the answer"),
    why=msg("For this task code the service sends images in chat messages."),
    rule=contract.TASK_TYPES,
    requires=("endpoint/stream-finish", "endpoint/degenerate"),
)
def image(interview: Interview) -> Findings:
    """An image in a message (an image_url with a data URL) must be accepted, be part of the prompt, and affect the
    answer. Four images, red, blue, chequered and shaded, are sent with the same question.

    The answers need not be right. If all four are equal, the log-probabilities of two of them are compared; if the
    server reports none, the check warns. It also warns if two of three answers name the colour of another image
    and not their own: an earlier image may have been shown.

    Repair: serve a vision-language model with its processor files; allow images (--limit-mm-per-prompt).
    Simulated by: npu-adapter simulate --fault ignores-images (refuses-images)

    Example:
    ```text answers to “What is the main colour?”
    red image   → A dog on a meadow.
    blue image  → A dog on a meadow.
    ```

    Use instead:

    ```text answers to “What is the main colour?”
    red image   → Red.
    blue image  → Blue.
    ```
    """
    if interview.task is Task.TEXT_GENERATION:
        raise NotApplicable(msg("the task is text-generation: no images"))
    if interview.shown is None:
        raise NotApplicable(msg("no image was sent"))
    streams, without = interview.shown.streams, interview.shown.without
    bad = next((exchange for exchange in streams if not answered(exchange)), None)
    if bad:
        fix = msg(
            "serve a vision-language model with its processor files; allow images (--limit-mm-per-prompt)"
        )
        expected = msg("an answer to a message with an image")
        yield about(bad).fail(expected=expected, seen=response_of(bad), fix=fix)
        return
    if len({texts(exchange) for exchange in streams}) > 1:
        yield from _exchanged(streams)
        return
    bare, counted = prompt_tokens(without), prompt_tokens(streams[0])
    seen = msg("the same answer to four images: {said}", said=shown(said(streams[0]), 120))
    fix = msg("pass image_url parts on to the model's processor")
    if bare and counted and counted <= bare:
        expected = msg("more prompt tokens than the {bare} without an image", bare=bare)
        seen = msg("{counted} with one, and {seen}", counted=counted, seen=seen)
        yield about(streams[0]).fail(expected=expected, seen=seen, fix=fix)
        return
    choices = map(first_choice, interview.shown.plain)
    certainties = {
        str(logprobs) if (logprobs := each.get("logprobs")) else None for each in choices
    }
    if len(certainties) > 1 and None not in certainties:
        yield note(msg("the images change the log-probabilities, but not the answer"))
    elif (
        certainties == {None}
        or len({plain_texts(exchange) for exchange in interview.shown.plain}) > 1
    ):
        yield about(streams[0]).warn(
            expected=msg("an answer that depends on the image"), seen=seen, fix=fix
        )
    else:
        expected = msg("log-probabilities that depend on the image")
        seen = msg("{seen}, with the same log-probabilities", seen=seen)
        yield about(streams[0]).fail(expected=expected, seen=seen, fix=fix)


def _exchanged(streams: Sequence[Exchange]) -> Findings:
    """A warning if two of three answers name red or blue, and not as the colour of their own image."""
    named = [
        {place for place, names in enumerate(_COLOURS) if names.search(said(each))}
        for each in streams[:3]
    ]
    mistaken = [place for place, colours in enumerate(named) if colours and place not in colours]
    if len(mistaken) > 1:
        exchange = streams[mistaken[0]]
        expected = msg("an answer about the image of the request")
        seen = msg(
            "{mistaken} of 3 answers name the colour of another image: {said}",
            mistaken=len(mistaken),
            said=shown(said(exchange)),
        )
        fix = msg(
            "look for a cache of images in front of the engine or in it; try --mm-processor-cache-gb 0"
        )
        yield about(exchange).warn(expected=expected, seen=seen, fix=fix)
