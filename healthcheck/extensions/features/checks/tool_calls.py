"""features/tool-calls: a tool call is JSON that fits, the same in a stream, and no text."""

from __future__ import annotations

from healthcheck.core.check import Findings, check, fail, unsettled
from healthcheck.extensions.features.judgement import cut, parsed, split, wrong_calls
from healthcheck.extensions.features.records import (
    AGAIN,
    AUTO,
    BOTH,
    HISTORY,
    REQUIRED,
    STREAMED,
    FeaturesRun,
)
from healthcheck.extensions.features.schema import quoted
from healthcheck.extensions.features.stage import FEATURES
from healthcheck.text.messages import msg

_FIX = msg("choose the --tool-call-parser and the chat template of this model")


@check(
    "features/tool-calls",
    msg("A tool call fits its schema, plain and streamed"),
    stage=FEATURES,
    why=msg(
        "An agent runs what the call says: arguments that do not parse, or a call left in the text, end its work."
    ),
)
def tool_calls(run: FeaturesRun) -> Findings:
    r"""A question that needs a tool (tool_choice auto), one that needs two, and one that needs none (tool_choice
    required) are asked plainly, plainly again and streamed; and a conversation is continued in which a tool has
    answered. Each call needs an id of its own, the name of a tool, arguments that are JSON and fit its parameters,
    and finish_reason "tool_calls". The deltas of the stream, put together as a client does it, must be the call of
    the plain answer.
    No markup of calls (`<tool_call>`, `<|tool_call|>`, `[TOOL_CALLS]` …) may stand in content. A model that does
    not call, and one whose plain answers differ at temperature 0, leave the check unsettled.

    A server that refuses tools with HTTP 4xx does not offer them: the check is skipped.

    Repair: `--enable-auto-tool-choice` with the `--tool-call-parser` of the model; where the stream alone is wrong,
    another release of the engine, since plain answers and streams are read by different code.

    Example:
    ```json tool_choice auto
    {"choices": [{"message": {"content": "<tool_call>{\"name\": \"get_weather\"}</tool_call>"},
                  "finish_reason": "stop"}]}
    ```

    Use instead:

    ```json tool_choice auto
    {"choices": [{"message": {"content": null, "tool_calls": [{"id": "call_1", "type": "function", "function":
        {"name": "get_weather", "arguments": "{\"city\": \"Paris\", \"days\": 2}"}}]},
                  "finish_reason": "tool_calls"}]}
    ```
    """
    pairs = {base + more: base for base in (AUTO, BOTH, REQUIRED) for more in ("", AGAIN, STREAMED)}
    answers, findings = split(run, (*pairs, HISTORY))
    yield from findings
    for name, answer in answers.items():
        wrong, calls = wrong_calls(answer, run.asked[name]), parsed(answer)
        plain, again = (answers.get(pairs.get(name, "") + more) for more in ("", AGAIN))
        if answer.finish == "length" and (calls or name != HISTORY):
            yield cut(name, answer)
        elif wrong:
            yield fail(expected=msg("a call that fits its tool"), seen=wrong, fix=_FIX, where=name)
        elif not calls and name in (AUTO, AUTO + STREAMED):
            told = msg("no call but {text}", text=quoted(answer.text))
            yield unsettled(
                expected=msg("a call"),
                seen=told,
                fix=msg("try a model that calls tools"),
                where=name,
            )
        ended = plain and again and "length" not in (plain.finish, answer.finish)
        if (
            name.endswith(STREAMED)
            and plain
            and again
            and ended
            and calls not in (parsed(plain), parsed(again))
        ):
            say = fail if parsed(plain) == parsed(again) else unsettled
            seen = msg(
                "{calls} in place of {plain}", calls=quoted(calls), plain=quoted(parsed(plain))
            )
            yield say(expected=msg("the call of the plain answer"), seen=seen, fix=_FIX, where=name)
