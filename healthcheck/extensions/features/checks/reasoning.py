"""features/reasoning: thoughts are apart from the answer, plain and streamed."""

from __future__ import annotations

import re

from healthcheck.core.check import Findings, NotApplicable, check, fail, warn
from healthcheck.extensions.features.judgement import cut, split
from healthcheck.extensions.features.records import PLAIN, STREAMED, THINKING, FeaturesRun
from healthcheck.extensions.features.schema import quoted
from healthcheck.extensions.features.stage import FEATURES
from healthcheck.text.messages import msg

_MARKS = re.compile(r"</?(?:seed:)?think(?:ing)?>|\[/?THINK\]|◁/?think▷|<\|channel\|>")
_FIX = msg("choose the --reasoning-parser and the chat template of this model")


@check(
    "features/reasoning",
    msg("Thoughts are apart from the answer"),
    stage=FEATURES,
    why=msg(
        "A client shows or grades content: thoughts in it, or an answer lost among them, are read as the answer."
    ),
)
def reasoning(run: FeaturesRun) -> Findings:
    r"""One question is asked with `chat_template_kwargs` {"enable_thinking": true} and false, plainly and streamed.
    Thoughts belong into the field `reasoning` (`reasoning_content` in older releases), their marks (`<think>`,
    `</think>` …) nowhere into content, and content is never empty. A stream has thoughts where the plain answer has
    them. Thoughts with false warn if the template knows the switch, which changes the number of prompt tokens.

    A model that gives no thoughts, and a server that refuses the field with HTTP 4xx, are skipped. An answer that
    is cut off leaves the check unsettled.

    Repair: `--reasoning-parser` of the model, and the chat template of its publisher.

    Example:
    ```json enable_thinking true
    {"choices": [{"message": {"content": "17 and 25 make 42.\n</think>\n\n42"}, "finish_reason": "stop"}]}
    ```

    Use instead:

    ```json enable_thinking true
    {"choices": [{"message": {"content": "42", "reasoning": "17 and 25 make 42."}, "finish_reason": "stop"}]}
    ```
    """
    answers, findings = split(run, (THINKING, THINKING + STREAMED, PLAIN, PLAIN + STREAMED))
    marks = {name: _MARKS.search(answer.text) for name, answer in answers.items()}
    if not findings and not any(
        marks[name] or answer.reasoning for name, answer in answers.items()
    ):
        raise NotApplicable(msg("no thoughts in {n} answers", n=len(answers)))
    yield from findings
    known = len({answer.read for answer in answers.values()} - {None}) > 1
    for name, answer in answers.items():
        plain, mark = answers.get(name.removesuffix(STREAMED)), marks[name]
        seen = msg(
            "reasoning {reasoning}, content {text}",
            reasoning=quoted(answer.reasoning),
            text=quoted(answer.text[mark.start() if mark else 0 :]),
        )
        if mark:
            yield fail(
                expected=msg("no marks of thoughts in content"), seen=seen, fix=_FIX, where=name
            )
        elif answer.finish == "length":
            yield cut(name, answer)
        elif not answer.text.strip():
            yield fail(expected=msg("content beside the thoughts"), seen=seen, fix=_FIX, where=name)
        elif (
            plain
            and plain.finish != "length"
            and bool(plain.reasoning) is not bool(answer.reasoning)
        ):
            yield fail(
                expected=msg("thoughts as in the plain answer"), seen=seen, fix=_FIX, where=name
            )
        elif name.startswith(PLAIN) and answer.reasoning and known:
            yield warn(expected=msg("no thoughts"), seen=seen, fix=_FIX, where=name)
