"""Every option of a probe in one record: its name, its values, its default, its help, and what it sends."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from healthcheck.messages import msg
from healthcheck.probe.options import limits
from healthcheck.probe.options.kinds import Flag, Kind, Names, Number, Numbers, Points, Table, Text, Texts, Whole
from healthcheck.probe.records import COLUMNS, QUESTION, DataSet, Patience, ProbeSettings
from healthcheck.records import JsonValue

_SETTINGS, _PATIENCE = ProbeSettings(url=""), Patience()


class Group(enum.Enum):
    """What an option is about; the values head the groups of `--help` and of the documentation."""

    PROBLEMS = msg("problems")
    REQUEST = msg("request")
    SERVER = msg("server")
    SAMPLING = msg("sampling")
    VERDICT = msg("accuracy verdict")


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One option.

    Attributes:
        name: its key in a TOML file and for `--set`.
        kind: the values that it takes.
        help: a sentence without its end.
        default: what holds where it is not given, in words.
        flag: the command line option of the same meaning, "" if there is none.
        metavar: how `--help` names its value.
        sends: the field or header of a request that it sets, "" if it sets none.
        service: False if the evaluation client sends no such thing, so that `verify` does not take it.
    """

    name: str = ""
    kind: Kind
    help: str
    group: Group
    default: str
    flag: str = ""
    metavar: str = ""
    sends: str = ""
    service: bool = True


def _option(kind: Kind, group: Group, help_: str, *, default: str = msg("none"), **more: Any) -> Any:
    return dataclasses.field(
        default=None, metadata={"option": Option(kind=kind, group=group, help=help_, default=default, **more)}
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeOptions:
    """What somebody asked of a probe; None for what was not said."""

    dataset: str | None = _option(
        Text(), Group.PROBLEMS, msg("problems from a file: GSM8K JSON lines, or qa or mcq as JSON lines or CSV"),
        flag="--dataset", metavar="FILE",
    )  # fmt: skip
    datasets: tuple[DataSet, ...] | None = _option(
        limits.DataSets(), Group.PROBLEMS, msg("several files in one run; the name of each is its tier"),
    )  # fmt: skip
    columns: Mapping[str, str] | None = _option(
        Names(
            msg("a table from {names} and so on to columns of the file", ", ".join(COLUMNS[:2])),
            limits.refuse_columns,
        ),
        Group.PROBLEMS, msg("the data set's own names of columns, such as question = 'prompt'"),
    )  # fmt: skip
    family: str | None = _option(
        Text(), Group.PROBLEMS, msg("built-in problems"), default=msg("those of the task, or arithmetic"),
        flag="--family", metavar="NAME",
    )  # fmt: skip
    problems: int | None = _option(
        Whole(1), Group.PROBLEMS, msg("how many different problems"), default=str(_SETTINGS.problems),
        flag="--problems", metavar="N",
    )  # fmt: skip
    seed: int | None = _option(
        Whole(), Group.PROBLEMS, msg("of the problems and their order"), default=str(_SETTINGS.seed),
        flag="--seed", metavar="N",
    )  # fmt: skip
    prompt: str | None = _option(
        Text(msg("a text with {question} in it", QUESTION), QUESTION), Group.PROBLEMS,
        msg("the user message, with {question} and maybe {instruction}, the form of the answer"),
        default=msg("the question and the form of the answer"), sends="messages",
    )  # fmt: skip
    few_shot: int | None = _option(
        Whole(0, 64),
        Group.PROBLEMS,
        msg(
            "how many examples precede a problem, as turns of user and assistant; they "
            "come from the problems' own source and are not asked"
        ),
        default="0",
        sends="messages",
    )
    few_shot_file: str | None = _option(
        Text(), Group.PROBLEMS, msg("the examples from this file instead, in its order; all without few_shot"),
        sends="messages",
    )  # fmt: skip
    system: str | None = _option(Text(), Group.REQUEST, msg("the system message"), sends="messages", service=False)
    temperature: float | None = _option(
        Number(0, 2),
        Group.REQUEST,
        msg("sampling temperature; the service's is unknown, its client's stock value is 0.01"),
        default=str(_SETTINGS.temperature),
        flag="--temperature",
        metavar="T",
        sends="temperature",
    )
    top_p: float | None = _option(
        Number(high=1, positive=True),
        Group.REQUEST,
        msg("nucleus sampling"),
        default=msg("the server's"),
        sends="top_p",
    )
    top_k: int | None = _option(
        Whole(-1),
        Group.REQUEST,
        msg("sample from so many tokens; -1 from all"),
        default=msg("the server's"),
        sends="top_k",
    )
    max_tokens: int | None = _option(
        Whole(1), Group.REQUEST, msg("most tokens of an answer"),
        default=msg("{max_tokens}, or what the context length leaves", _SETTINGS.max_tokens),
        flag="--max-tokens", metavar="N", sends="max_tokens",
    )  # fmt: skip
    stop: tuple[str, ...] | None = _option(
        Texts(), Group.REQUEST, msg("texts that end an answer"), sends="stop", service=False
    )
    request_seed: int | None = _option(
        Whole(0), Group.REQUEST, msg("seed of a problem's first sample; the next samples have the next numbers, so "
        "that they differ"), sends="seed",
    )  # fmt: skip
    logprobs: bool | None = _option(
        Flag(),
        Group.REQUEST,
        msg("request log-probabilities: best@n and votes by likelihood"),
        default="false",
        flag="--logprobs",
        sends="logprobs",
    )
    chat_template_kwargs: Mapping[str, JsonValue] | None = _option(
        Table(), Group.REQUEST, msg("variables of the chat template, such as enable_thinking"),
        sends="chat_template_kwargs", service=False,
    )  # fmt: skip
    extra_body: Mapping[str, JsonValue] | None = _option(
        Table(msg("a table of further fields"), limits.refuse_own_fields), Group.REQUEST,
        msg("further fields of the request, such as min_p or repetition_penalty"), sends=msg("as they are named"),
        service=False,
    )  # fmt: skip
    model: str | None = _option(
        Text(), Group.SERVER, msg("model name"), default=msg("the first that /v1/models lists"),
        flag="--model", metavar="NAME", sends="model",
    )  # fmt: skip
    api_key_env: str | None = _option(
        Text(msg("the name of an environment variable")), Group.SERVER,
        msg("the environment variable that has the API key"), sends="Authorization: Bearer", service=False,
    )  # fmt: skip
    headers: Mapping[str, str] | None = _option(
        Names(msg("a table of headers"), limits.refuse_headers),
        Group.SERVER,
        msg("further headers; a report shows them"),
        sends=msg("as they are named"),
        service=False,
    )
    headers_env: Mapping[str, str] | None = _option(
        Names(msg("a table of headers"), limits.refuse_header_names),
        Group.SERVER,
        msg("headers with secrets: for each, the environment variable that has its value"),
        sends=msg("as they are named"),
        service=False,
    )
    concurrency: int | None = _option(
        Whole(1), Group.SERVER, msg("requests in flight at each server"), default=str(_SETTINGS.concurrency),
        flag="--concurrency", metavar="N",
    )  # fmt: skip
    connect_timeout_s: float | None = _option(
        Number(positive=True), Group.SERVER, msg("seconds for a connection"), default=f"{_PATIENCE.connect_s:g}"
    )
    silence_timeout_s: float | None = _option(
        Number(positive=True), Group.SERVER, msg("seconds between two arrivals of bytes"),
        default=f"{_PATIENCE.silence_s:g}",
    )  # fmt: skip
    answer_timeout_s: float | None = _option(
        Number(positive=True), Group.SERVER, msg("seconds for an answer from its first byte"),
        default=msg("{answer_s:g}, or one for each token of max_tokens where that is more", _PATIENCE.answer_s),
    )  # fmt: skip
    attempts: int | None = _option(
        Whole(1, 100), Group.SERVER, msg("tries of a request: connection errors, 429 and 5xx are tried again"),
        default=str(_PATIENCE.attempts),
    )  # fmt: skip
    retry_wait_s: float | None = _option(
        Number(0, 60), Group.SERVER, msg("seconds before the second try; it doubles from try to try"),
        default=f"{_PATIENCE.first_wait_s:g}",
    )  # fmt: skip
    strikes: int | None = _option(
        Whole(1), Group.SERVER, msg("so many failed requests in a row end the run"), default=str(_PATIENCE.strikes)
    )
    samples: int | None = _option(
        Whole(1), Group.SAMPLING, msg("answers for each problem"), default=str(_SETTINGS.samples),
        flag="--samples", metavar="N", sends="num_return_sequences",
    )  # fmt: skip
    adaptive_k: float | None = _option(
        Number(0, 0.49),
        Group.SAMPLING,
        msg("stop sampling a problem when its majority is settled at this error, such as .05; 0 for certain"),
        flag="--adaptive-k",
        metavar="ERROR",
        service=False,
    )
    grading_noise: tuple[float, float] | None = _option(
        Numbers(msg("two shares whose sum is below 1, such as .05,.02"), 2, limits.are_rates), Group.SAMPLING,
        msg("shares of right answers that the grader misses and of wrong ones that it passes, to be taken out"),
        default="0,0", flag="--grading-noise", metavar="FN,FP",
    )  # fmt: skip
    bootstrap: int | None = _option(
        Whole(1),
        Group.SAMPLING,
        msg(
            "bootstrap intervals too, from N resamples of the problems, as many papers print them (they take 1000)"
        ),
        flag="--bootstrap",
        metavar="N",
    )
    reference: str | None = _option(
        limits.Reference(),
        Group.VERDICT,
        msg(
            "accuracy of healthy weights on these problems: a number from 0 to 1, "
            "or the folder of a reference run (same problems and sampling)"
        ),
        flag="--reference",
        metavar="R",
    )
    margin: float | None = _option(
        Points(), Group.VERDICT, msg("loss against the reference to exclude, in points of accuracy"),
        default=msg("the smallest that the samples asked for can settle"), flag="--margin", metavar="POINTS",
    )  # fmt: skip
    gate: tuple[float, float, float] | None = _option(
        Numbers(msg("three numbers such as .30,.05,.01: 0 <= GOOD < BAD < 1, 0 < ERROR < .5"), 3, limits.is_gate),
        Group.VERDICT,
        msg(
            "in place of a margin: how far below the reference is degraded, up to which healthy, error, "
            "such as .30,.05,.01"
        ),
        flag="--gate",
        metavar="BAD,GOOD,ERROR",
    )
    threshold: float | None = _option(
        Number(0, 1), Group.VERDICT, msg("least accuracy, from 0 to 1"), flag="--threshold", metavar="T"
    )
    full: bool | None = _option(
        Flag(), Group.VERDICT, msg("take every sample even if the verdict is clear"), default="false", flag="--full"
    )


def options() -> Iterator[Option]:
    """Every option, in the order of the record."""
    for each in dataclasses.fields(ProbeOptions):
        option: Option = each.metadata["option"]
        yield dataclasses.replace(option, name=each.name)


def given(asked: ProbeOptions) -> dict[str, Any]:
    """What was said, by name."""
    values = {each.name: getattr(asked, each.name) for each in dataclasses.fields(asked)}
    return {name: value for name, value in values.items() if value is not None}
