"""Reports of AISBench that tests make: its names, the order of its keys, its bytes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pprint import pformat
from typing import TypeAlias

from healthcheck.core.records import JsonValue

MODEL = "vllm-api-stream-chat"
"""AISBench's name for its stock streaming chat client; the platform's folders and columns carry it."""
OriginPrompt: TypeAlias = "str | Sequence[Mapping[str, JsonValue]]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """One line of `predictions`: an answered request, with AISBench's names and order of keys.

    Attributes:
        id: the problem's index in the data set, the same for all its repeats.
        uuid: 32 hex digits, different for each repeat.
        origin_prompt: turns of {"role": "HUMAN" | "BOT" | "SYSTEM", "prompt": text}, or a text.
        prediction: the server's text; separate reasoning comes before "</think>".
        gold: the raw answer column: for GSM8K the rationale with "#### 18", for TextVQA several persons' answers.
    """

    id: int
    success: bool = True
    uuid: str
    origin_prompt: OriginPrompt
    prediction: str
    gold: str | Sequence[Mapping[str, JsonValue]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """One line of the `_failed` file: a request without an answer."""

    id: int
    input: OriginPrompt
    error_info: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientReport:
    """A run as AISBench reports it.

    Attributes:
        stamp: local time of the start, "20260326_151326".
        pid: of the process, part of a file name.
        dataset: the data set's abbreviation.
        version: the prompt's digest.
        predictions: in the order of arrival.
        results: the result of `client_results`; None if no request was answered.
        config: top-level sections of the `configs` file.
        data: files that the configuration reads, by path from the report folder.
    """

    stamp: str
    pid: int
    dataset: str
    version: str
    predictions: tuple[Prediction, ...]
    results: Mapping[str, float] | None
    config: Mapping[str, JsonValue]
    data: Mapping[str, str] = field(default_factory=dict)
    model: str = MODEL
    failures: tuple[Failure, ...] = ()


def files_of(report: ClientReport) -> dict[str, bytes]:
    """The files of a report by their path in the report folder."""
    model, dataset = report.model, report.dataset
    files = {
        f"configs/{report.stamp}_{report.pid}.py": render_configuration(report.config),
        f"summary/summary_{report.stamp}.csv": _summary(report),
        **report.data,
    }
    for name, records in ((dataset, report.predictions), (f"{dataset}_failed", report.failures)):
        if records:
            files[f"predictions/{model}/{name}.jsonl"] = "".join(
                _line(dataset, each) for each in records
            )
    if report.results is not None:
        files[f"results/{model}/{dataset}.json"] = json.dumps(
            dict(report.results), ensure_ascii=False, indent=4
        )
    return {name: text.encode("utf-8", "surrogatepass") for name, text in files.items()}


def render_configuration(sections: Mapping[str, JsonValue]) -> str:
    """A configuration that AISBench reads: sections and keys in alphabetical order."""
    return "".join(f"{name} = {pformat(sections[name])}\n" for name in sorted(sections))


def _summary(report: ClientReport) -> str:
    """The printed figures, without quoting; dashes if every request failed."""
    head = (report.dataset, report.version)
    figures = [
        (*head, name, "gen", f"{figure:.02f}") for name, figure in (report.results or {}).items()
    ]
    rows = figures or [(report.dataset, "-", "-", "-", "-")]
    return "".join(
        ",".join(row) + "\n"
        for row in [("dataset", "version", "metric", "mode", report.model), *rows]
    )


def _line(dataset: str, record: Prediction | Failure) -> str:
    """A line of a predictions file. An empty `gold` is omitted, as in AISBench."""
    written = {name: value for name, value in asdict(record).items() if value or name != "gold"}
    return json.dumps({"data_abbr": dataset, **written}, ensure_ascii=False) + "\n"
