"""What several checks judge alike: refused and lost answers, and tool calls."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean

from healthcheck.core.check import NotApplicable, fail, note, unsettled
from healthcheck.core.records import Finding, JsonValue
from healthcheck.extensions.features.records import Answer, Body, FeaturesRun, Trial
from healthcheck.extensions.features.schema import at, list_at, misfit_of_text, quoted, text_at
from healthcheck.stages.probe.statistics.intervals import Interval, clopper_pearson
from healthcheck.system import json_text
from healthcheck.system.json_text import JsonError
from healthcheck.text.messages import Message, joined, msg

LOG = msg("look for the request in the server's log")
_MARKUP = re.compile(
    r"</?tool_calls?>|<\|/?tool[_▁]|<｜tool|\[TOOL_CALLS\]|<function=|</?function_calls>|<invoke "
)


def split(run: FeaturesRun, names: Iterable[str]) -> tuple[Mapping[str, Answer], list[Finding]]:
    """The answers that can be judged, and findings about the others.

    Raises:
        NotApplicable: the server refuses all of these requests.
    """
    answers = {name: run.answers[name] for name in names}
    others = {name: answer for name, answer in answers.items() if answer.said}
    seen = {
        name: msg("{name}: HTTP {status}, {said}", name=name, status=a.status, said=a.said)
        for name, a in others.items()
    }
    if len(others) == len(answers) and all(answer.refused for answer in others.values()):
        raise NotApplicable(msg("not offered: {refused}", refused=next(iter(seen.values()))))
    lost = [seen[name] for name, answer in others.items() if not answer.refused]
    found = [fail(expected=msg("an answer"), seen=each, fix=LOG) for each in lost]
    found += [
        note(msg("not offered: {refused}", refused=each))
        for each in seen.values()
        if each not in lost
    ]
    return {name: answer for name, answer in answers.items() if name not in others}, found


def cut(name: str, answer: Answer) -> Finding:
    """An answer that ended with its room proves nothing: a model may repeat itself for ever."""
    seen = msg(
        "cut off after {tokens} tokens: {text}", tokens=answer.tokens, text=quoted(answer.text)
    )
    return unsettled(
        expected=msg("an answer that ends"), seen=seen, fix=msg("try a larger model"), where=name
    )


def parsed(answer: Answer) -> list[tuple[str, JsonValue]]:
    """Names and arguments, for a comparison; all arguments stay text if one is not JSON."""
    try:
        return [(call.name, json_text.load(call.arguments)) for call in answer.calls]
    except JsonError:
        return [(call.name, call.arguments) for call in answer.calls]


def markup(answer: Answer) -> str:
    """The markup of calls that the server should have read, "" if there is none."""
    found = _MARKUP.search(answer.text)
    return (
        msg("markup of a call left in content: {text}", text=quoted(answer.text[found.start() :]))
        if found
        else ""
    )


def wrong_calls(answer: Answer, body: Body) -> str:
    """What is wrong with the tool calls of an answer, "" if nothing is or there are none."""
    wrong = [markup(answer)]
    functions = [at(each, "function") for each in list_at(body, "tools")]
    known = {text_at(each, "name"): at(each, "parameters") for each in functions}
    for call in answer.calls:
        unfit = misfit_of_text(call.arguments, known.get(call.name) or {"type": "object"})
        wrong.append(
            msg("arguments of {name}: {unfit}", name=call.name, unfit=unfit) if unfit else ""
        )
        wrong.append(
            ""
            if call.name in known
            else msg("{name} is not among the tools", name=quoted(call.name))
        )
    ids = [call.id for call in answer.calls]
    wrong.append(
        ""
        if len({*ids} - {""}) == len(ids)
        else msg("ids missing or repeated: {ids}", ids=quoted(ids))
    )
    if bool(ids) is not (answer.finish == "tool_calls"):
        wrong.append(
            msg(
                "finish_reason {finish} with {calls} tool calls",
                finish=quoted(answer.finish),
                calls=len(ids),
            )
        )
    return joined("; ", filter(None, wrong))


def called(trial: Trial) -> bool:
    """Whether the answer is a tool call, or was to be one."""
    return trial.answer.finish == "tool_calls" or bool(trial.answer.calls or markup(trial.answer))


def rates(trials: Iterable[Trial]) -> tuple[list[Trial], Sequence[bool], Sequence[bool]]:
    """The answers that call a tool; whether the calls of each fit; whether an answer calls where it is right."""
    answered = [trial for trial in trials if not trial.answer.said]
    calls = [trial for trial in answered if called(trial)]
    fits = [not wrong_calls(trial.answer, trial.body) for trial in calls]
    return (
        calls,
        fits,
        [called(trial) is trial.calls for trial in answered if trial.calls is not None],
    )


def interval(good: Sequence[bool]) -> Interval:
    """The limits of the share at large."""
    return (
        clopper_pearson(sum(good), len(good))
        if good
        else Interval(low=0, high=1, level=0, method="")
    )


def share(good: Sequence[bool]) -> Message:
    """The share with its limits, in words."""
    return msg(
        "{good} of {total} (95 %: {low:.1f} to {high:.1f} %)",
        good=sum(good),
        total=len(good),
        low=100 * interval(good).low,
        high=100 * interval(good).high,
    )


def figure(good: Sequence[bool]) -> JsonValue:
    """The share for the report; None if nothing was counted."""
    low, high = interval(good).low, interval(good).high
    return (
        {"value": fmean(good), "low": low, "high": high, "question": msg("requests like these")}
        if good
        else None
    )
