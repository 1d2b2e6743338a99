"""features/tool-rate: over many requests, calls fit their schemas and come when they should."""

from __future__ import annotations

from healthcheck.core.check import Findings, NotApplicable, check, fail, note, unsettled, warn
from healthcheck.core.records import JsonValue
from healthcheck.extensions.features.judgement import LOG, interval, rates, share, wrong_calls
from healthcheck.extensions.features.records import FeaturesRun
from healthcheck.extensions.features.reference import compared
from healthcheck.extensions.features.schema import at, list_at, not_judged
from healthcheck.extensions.features.stage import FEATURES
from healthcheck.text.messages import msg

LEAST_ACCURACY, LEAST_AGREEMENT = 0.95, 0.73
_FIX = msg("compare the chat template and the tool parser with those of the model's publisher")


@check(
    "features/tool-rate",
    msg("Most tool calls fit, and come when they should"),
    stage=FEATURES,
    why=msg("One call shows nothing of one in ten that is broken, and an agent makes hundreds."),
)
def tool_rate(run: FeaturesRun) -> Findings:
    r"""Schema accuracy is the share of answers with calls whose calls all fit; trigger agreement is the share of
    answers that call where the reference does, and do not where it does not. Both have the interval of Clopper and
    Pearson (95 %). A share of calls that fit whose whole interval is below 95 % fails, single calls that do not fit
    warn; an agreement whose interval is below 73 % warns, since it depends on the model as well.

    Without `--requests`, 20 questions (`--n`) are asked, of which three in four need the tool. `--requests FILE`
    takes the requests of Moonshot's vendor verifier as they are: a JSON line is a body with messages and tools. A
    line of its results, {"request": …, "finish_reason": …}, also says what the reference did.

    `--reference FILE` with the `--json` of an earlier run over the same requests compares both, request by request:
    an exact McNemar test warns if it is worse than chance explains (p below 0.01).

    Repair: the chat template and the `--tool-call-parser` of the model; its publisher says which.

    Example:
    ```json each request
    {"choices": [{"message": {"content": null, "tool_calls": [{"id": "call_1", "type": "function", "function":
        {"name": "get_weather", "arguments": "{\"city\": \"Paris\", \"days\": \"2\"}"}}]},
                  "finish_reason": "tool_calls"}]}
    ```

    Use instead:

    ```json each request
    {"choices": [{"message": {"content": null, "tool_calls": [{"id": "call_1", "type": "function", "function":
        {"name": "get_weather", "arguments": "{\"city\": \"Paris\", \"days\": 2}"}}]},
                  "finish_reason": "tool_calls"}]}
    ```
    """
    lost = [trial.answer for trial in run.trials if trial.answer.said]
    if lost and len(lost) == len(run.trials) and all(answer.refused for answer in lost):
        raise NotApplicable(msg("not offered: {refused}", refused=lost[0].said))
    if lost:
        seen = msg(
            "{lost} of {total} without one, the first: {said}",
            lost=len(lost),
            total=len(run.trials),
            said=lost[0].said,
        )
        yield fail(expected=msg("an answer to each request"), seen=seen, fix=LOG)
    calls, fits, agrees = rates(run.trials)
    if not calls and not lost:
        expected, fix = (
            msg("calls to judge"),
            msg("try a model that calls tools, or other --requests"),
        )
        yield unsettled(
            expected=expected,
            seen=msg("no call in {n} answers", n=len(run.trials) - len(lost)),
            fix=fix,
        )
    if not all(fits):
        first = calls[fits.index(False)]
        wrong = wrong_calls(first.answer, first.body)
        seen = msg(
            "calls that fit: {share}; the first that does not: {wrong}",
            share=share(fits),
            wrong=wrong,
        )
        say = fail if interval(fits).high < LEAST_ACCURACY else warn
        yield say(expected=msg("calls that fit their tools"), seen=seen, fix=_FIX)
    if calls and interval(agrees).high < LEAST_AGREEMENT:
        yield warn(
            expected=msg("a call where one is right, and none elsewhere"),
            seen=share(agrees),
            fix=_FIX,
        )
    yield from compared(run.trials)
    unread = set().union(*(not_judged(at(each, "function", "parameters")) for each in _tools(run)))
    if unread:
        yield note(
            msg(
                "not judged in the parameters of tools: {keywords}",
                keywords=", ".join(sorted(unread)),
            )
        )
    yield note(
        msg(
            "calls that fit: {fits}; calls where they are right: {agrees}",
            fits=share(fits),
            agrees=share(agrees),
        )
    )


def _tools(run: FeaturesRun) -> list[JsonValue]:
    return [tool for trial in run.trials for tool in list_at(trial.body, "tools")]
