"""Every option of a probe in one record: its name, values, default, help, and the field that it sends."""
# ruff: noqa: RUF009 - the defaults are fields

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from healthcheck.stages.probe.records import Patience, ProbeSettings
from healthcheck.text.messages import msg

if TYPE_CHECKING:  # --help reads no value, and `reading` resolves the annotations
    from typing import Annotated

    from msgspec import Meta

    from healthcheck.stages.probe.options import values
    from healthcheck.stages.probe.options.values import Count, Seconds, Text

_SETTINGS, _PATIENCE = ProbeSettings(url=""), Patience()


class Group(enum.Enum):
    """The subject of an option; the values are the headings of `--help` and of the documentation."""

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
        help: a sentence without its full stop.
        default: the default, in words.
        metavar: the name of the flag's value in `--help`, "" for a flag without one; None if there is no flag.
        sends: the field or header of a request that the option sets, "" if it sets none.
        service: False if the evaluation client sends no such field, so that `verify` does not accept it.
    """

    name: str = ""
    group: Group
    help: str
    default: str = msg("none")
    metavar: str | None = None
    sends: str = ""
    service: bool = True

    @property
    def flag(self) -> str:
        """The command line option with the same meaning, "" if there is none."""
        return "" if self.metavar is None else f"--{self.name.replace('_', '-')}"


def _option(group: Group, help_: str, **more: Any) -> Any:
    return dataclasses.field(
        default=None, metadata={"option": Option(group=group, help=help_, **more)}
    )


_problems, _request, _server, _sampling, _verdict = (partial(_option, group) for group in Group)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeOptions:
    """The requested options of a probe; None for those that were not given."""

    dataset: Text | None = _problems(
        msg("problems from a file, JSON lines or CSV, or from the folder of a data set"),
        metavar="FILE",
    )
    datasets: values.DataSets | None = _problems(
        msg("several files in one run; the name of each is its tier")
    )
    columns: values.Columns | None = _problems(
        msg("the data set's own names of columns, such as question = 'prompt'")
    )
    family: Text | None = _problems(
        msg("built-in problems"), default=msg("those of the task, or arithmetic"), metavar="NAME"
    )
    problems: Count | None = _problems(
        msg("how many different problems"), default=str(_SETTINGS.problems), metavar="N"
    )
    seed: int | None = _problems(
        msg("of the problems and their order"), default=str(_SETTINGS.seed), metavar="N"
    )
    prompt: values.Prompt | None = _problems(
        msg("the user message, with {question} and maybe {instruction}, the form of the answer"),
        default=msg("the question and the form of the answer"), sends="messages",
    )  # fmt: skip
    few_shot: Annotated[int, Meta(ge=0, le=64)] | None = _problems(
        msg("how many examples precede a problem, as turns of user and assistant; they "
            "come from the problems' own source and are not asked"),
        default="0", sends="messages",
    )  # fmt: skip
    few_shot_file: Text | None = _problems(
        msg("the examples from this file instead, in its order; all without few_shot"),
        sends="messages",
    )
    system: Text | None = _request(msg("the system message"), sends="messages", service=False)
    temperature: Annotated[float, Meta(ge=0, le=2)] | None = _request(
        msg("sampling temperature; the service's is unknown, its client's stock value is 0.01"),
        default=str(_SETTINGS.temperature), metavar="T", sends="temperature",
    )  # fmt: skip
    top_p: values.TopP | None = _request(
        msg("nucleus sampling"), default=msg("the server's"), sends="top_p"
    )
    top_k: Annotated[int, Meta(ge=-1)] | None = _request(
        msg("sample from so many tokens; -1 from all"), default=msg("the server's"), sends="top_k"
    )
    max_tokens: Count | None = _request(
        msg("most tokens of an answer"), metavar="N", sends="max_tokens",
        default=msg("{max_tokens}, or what the context length leaves", max_tokens=_SETTINGS.max_tokens),
    )  # fmt: skip
    stop: values.Texts | None = _request(
        msg("texts that end an answer"), sends="stop", service=False
    )
    request_seed: Annotated[int, Meta(ge=0)] | None = _request(
        msg(
            "seed of a problem's first sample; the next samples have the next numbers, so that they differ"
        ),
        sends="seed",
    )
    logprobs: bool | None = _request(
        msg("request log-probabilities and record their mean for each answer (logs/samples.jsonl)"),
        default="false", metavar="", sends="logprobs",
    )  # fmt: skip
    chat_template_kwargs: values.Table | None = _request(
        msg("variables of the chat template, such as enable_thinking"),
        sends="chat_template_kwargs",
        service=False,
    )
    extra_body: values.FurtherFields | None = _request(
        msg("further fields of the request, such as min_p or repetition_penalty"),
        sends=msg("as they are named"), service=False,
    )  # fmt: skip
    model: Text | None = _server(
        msg("model name"),
        default=msg("the first that /v1/models lists"),
        metavar="NAME",
        sends="model",
    )
    api_key_env: values.Variable | None = _server(
        msg("the environment variable that has the API key"),
        sends="Authorization: Bearer",
        service=False,
    )
    headers: values.Headers | None = _server(
        msg("further headers; a report shows them"), sends=msg("as they are named"), service=False
    )
    headers_env: values.HeadersEnv | None = _server(
        msg("secret headers: for each, the environment variable that has its value"),
        sends=msg("as they are named"), service=False,
    )  # fmt: skip
    concurrency: Count | None = _server(
        msg("requests in flight"), default=str(_SETTINGS.concurrency), metavar="N"
    )
    connect_timeout_s: Seconds | None = _server(
        msg("seconds for a connection"), default=f"{_PATIENCE.connect_s:g}"
    )
    silence_timeout_s: Seconds | None = _server(
        msg("seconds between two arrivals of bytes"), default=f"{_PATIENCE.silence_s:g}"
    )
    answer_timeout_s: Seconds | None = _server(
        msg("seconds for an answer from its first byte"),
        default=msg(
            "{answer_s:g}, or one for each token of max_tokens where that is more",
            answer_s=_PATIENCE.answer_s,
        ),
    )
    attempts: Annotated[int, Meta(ge=1, le=100)] | None = _server(
        msg("tries of a request: connection errors, 429 and 5xx are tried again"),
        default=str(_PATIENCE.attempts),
    )
    retry_wait_s: Annotated[float, Meta(ge=0, le=60)] | None = _server(
        msg("seconds before the second try; it doubles from try to try"),
        default=f"{_PATIENCE.first_wait_s:g}",
    )
    strikes: Count | None = _server(
        msg("so many failed requests in a row end the run"), default=str(_PATIENCE.strikes)
    )
    samples: Count | None = _sampling(
        msg("answers for each problem"),
        default=str(_SETTINGS.samples),
        metavar="N",
        sends="num_return_sequences",
    )
    reference: values.Reference | None = _verdict(
        msg("accuracy of healthy weights on these problems: a number from 0 to 1, "
            "or the folder of a reference run (same problems and sampling)"),
        metavar="R",
    )  # fmt: skip
    margin: values.Points | None = _verdict(
        msg("loss against the reference to exclude, in points of accuracy"),
        default=msg("the smallest that the samples asked for can settle"), metavar="POINTS",
    )  # fmt: skip
    gate: values.Gate | None = _verdict(
        msg("in place of a margin: how far below the reference is degraded, up to which healthy, error, "
            "such as .30,.05,.01"),
        metavar="BAD,GOOD,ERROR",
    )  # fmt: skip
    threshold: Annotated[float, Meta(ge=0, le=1)] | None = _verdict(
        msg("least accuracy, from 0 to 1"), metavar="T"
    )
    full: bool | None = _verdict(
        msg("take every sample even if the verdict is clear"), default="false", metavar=""
    )


def options() -> Iterator[Option]:
    for each in dataclasses.fields(ProbeOptions):
        yield dataclasses.replace(each.metadata["option"], name=each.name)


def given(asked: ProbeOptions) -> dict[str, Any]:
    """The options that were given, by name."""
    said = {each.name: getattr(asked, each.name) for each in dataclasses.fields(asked)}
    return {name: value for name, value in said.items() if value is not None}
