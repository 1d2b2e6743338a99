"""features/tool-choice: none, required and a named tool are obeyed."""

from __future__ import annotations

from healthcheck.core.check import Findings, check, fail
from healthcheck.extensions.features.judgement import cut, markup, split
from healthcheck.extensions.features.records import NAMED, NONE, REQUIRED, STREAMED, FeaturesRun
from healthcheck.extensions.features.schema import quoted
from healthcheck.extensions.features.stage import FEATURES
from healthcheck.text.messages import msg

_EXPECTED = {
    NONE: msg("no call, nor its markup"),
    NAMED: msg("one call, of get_time"),
    REQUIRED: msg("a call"),
}
_FIX = msg("enable the tool parser of the model, or take a release that enforces tool_choice")
_FIXES = {
    NONE: msg("keep the tools from the prompt, in vLLM with --exclude-tools-when-tool-choice-none")
}


@check(
    "features/tool-choice",
    msg("tool_choice is obeyed"),
    stage=FEATURES,
    why=msg(
        "A program that demands a call waits for one, and one that forbids it shows the text to a person."
    ),
)
def tool_choice(run: FeaturesRun) -> Findings:
    r"""The field tool_choice is asked for against what the question suggests: `none` for a question that needs a
    tool, `required` for a greeting (plain and streamed), and a named tool that does not suit the question. A server
    that takes the field enforces it by the grammar of its output, whatever the model would say.

    Repair: a release of the engine that knows the value (vLLM has `required` since 0.8.3), or `--tool-call-parser`.
    With `none`, vLLM shows the model its tools nevertheless, but for `--exclude-tools-when-tool-choice-none`.

    Example:
    ```json tool_choice required
    {"choices": [{"message": {"content": "Hello, I hope that you are well."}, "finish_reason": "stop"}]}
    ```

    Use instead:

    ```json tool_choice required
    {"choices": [{"message": {"content": null, "tool_calls": [{"id": "call_1", "type": "function", "function":
        {"name": "get_time", "arguments": "{\"zone\": \"UTC\"}"}}]}, "finish_reason": "tool_calls"}]}
    ```
    """
    answers, findings = split(run, (*_EXPECTED, REQUIRED + STREAMED))
    yield from findings
    for name, answer in answers.items():
        names = [call.name for call in answer.calls]
        obeyed = {NONE: not names and not markup(answer), NAMED: names == ["get_time"]}.get(
            name, bool(names)
        )
        if answer.finish == "length" and not obeyed:
            yield cut(name, answer)
        elif not obeyed:
            seen = msg(
                "calls {names}, content {text}", names=quoted(names), text=quoted(answer.text)
            )
            yield fail(
                expected=_EXPECTED[name.removesuffix(STREAMED)],
                seen=seen,
                fix=_FIXES.get(name, _FIX),
                where=name,
            )
