"""features/structured-output: an answer has the form that was asked for."""

from __future__ import annotations

import re

from healthcheck.core.check import Findings, check, fail, warn
from healthcheck.extensions.features.judgement import cut, split
from healthcheck.extensions.features.records import (
    CHOICE,
    GUIDED,
    OBJECT,
    REGEX,
    SCHEMA,
    STREAMED,
    FeaturesRun,
)
from healthcheck.extensions.features.schema import misfit_of_text, quoted
from healthcheck.extensions.features.stage import FEATURES
from healthcheck.text.messages import msg

_PATTERNS = {CHOICE: "umber-17|teal-42", REGEX: "Z[0-4]{3}-(red|blue)"}
_FIX = msg(
    "use a release that enforces it, with the grammar backend installed (xgrammar or guidance for vLLM)"
)
_FIXES = {
    GUIDED: msg("have the client send response_format or structured_outputs, the names of today")
}


@check(
    "features/structured-output",
    msg("Structured output is enforced"),
    stage=FEATURES,
    why=msg(
        "A program parses the answer: a format that is ignored in silence breaks it at the first other answer."
    ),
)
def structured_output(run: FeaturesRun) -> Findings:
    r"""With room enough, an answer parses and fits: `response_format` with json_schema (plain and streamed) and
    json_object, and vLLM's `structured_outputs` with choice and regex. The schema has values that no prompt
    mentions, so that a model which merely follows the prompt does not pass for a server that enforces the format.

    A field that a server refuses with HTTP 4xx is not offered. Fields that only vLLM knows fail on vLLM and warn on
    another server; the old name `guided_json`, which vLLM has swallowed in silence since 0.12, always warns. An
    answer that is cut off leaves the check unsettled.

    Repair: install the engine's grammar backend, and send the names that its release documents.

    Example:
    ```json json_schema
    {"choices": [{"message": {"content": "{\"colour\": \"red\", \"size\": \"large\"}"}, "finish_reason": "stop"}]}
    ```

    Use instead:

    ```json json_schema
    {"choices": [{"message": {"content": "{\"colour\": \"teal-42\", \"size\": 5}"}, "finish_reason": "stop"}]}
    ```
    """
    answers, findings = split(run, (SCHEMA, SCHEMA + STREAMED, OBJECT, CHOICE, REGEX, GUIDED))
    yield from findings
    for name, answer in answers.items():
        text = answer.text.strip()
        wrong = misfit_of_text(
            text, {"type": "object"} if name == OBJECT else run.asked[GUIDED][GUIDED]
        )
        if name in _PATTERNS:
            wrong = (
                ""
                if re.fullmatch(_PATTERNS[name], text)
                else msg("not {form}: {text}", form=_PATTERNS[name], text=quoted(text))
            )
        if wrong and answer.finish == "length" and name != GUIDED:
            yield cut(name, answer)
        elif wrong:
            say = warn if name == GUIDED or (name in _PATTERNS and not run.vllm) else fail
            yield say(
                expected=msg("the form that was asked for"),
                seen=wrong,
                fix=_FIXES.get(name, _FIX),
                where=name,
            )
