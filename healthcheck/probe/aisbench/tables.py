"""The summary in AISBench's four forms, byte for byte: plain table, CSV, Markdown, raw."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

Table = Sequence[Sequence[str]]
_RULE = 128
_DIVIDER = "-" * _RULE + " THIS IS A DIVIDER " + "-" * _RULE + "\n\n"
_FIRST_METRICS = (
    "score",
    "auc_score",
    "accuracy",
    "humaneval_pass@1",
    "rouge1",
    "avg_toxicity_score",
    "bleurt_diff",
    "matthews_correlation",
    "truth",
    "f1",
    "exact_match",
    "extract_rate",
)
_HIDDEN_METRICS = frozenset({"bp", "sys_len", "ref_len", "type", "details"})


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetResults:
    """One data set of a summary.

    Attributes:
        dataset: its abbreviation.
        version: the prompt's digest (`version.version_of`).
        results: as in the `results` file, None if every request failed and none was written.
    """

    dataset: str
    version: str
    results: Mapping[str, float | str] | None


def table(model: str, datasets: Sequence[DatasetResults]) -> list[list[str]]:
    """The rows of the summary, the header first."""
    rows = [["dataset", "version", "metric", "mode", model]]
    for entry in datasets:
        metrics = [name for name in entry.results or () if name not in _HIDDEN_METRICS]
        if not metrics:
            rows.append([entry.dataset, "-", "-", "-", "-"])
        for name in sorted(metrics, key=_place):
            value = (entry.results or {})[name]
            shown = value if isinstance(value, str) else f"{value:.02f}"
            rows.append([entry.dataset, entry.version, name, "gen", shown])
    return rows


def csv(rows: Table) -> str:
    """Comma-separated, without quoting, as AISBench writes it."""
    return "\n".join(",".join(row) for row in rows) + "\n"


def markdown(rows: Table) -> str:
    lines = ["| " + " | ".join(row) + " |\n" for row in rows]
    lines.insert(1, "|" + " | ".join("-----" for _ in rows[0]) + "|\n")
    return "".join(lines)


def text(stamp: str, model: str, datasets: Sequence[DatasetResults]) -> str:
    """The .txt form: the other forms one after another."""
    rows = table(model, datasets)
    raw = ["-" * 31, f"Model: {model}"]
    raw += [
        f"{entry.dataset}: {_without_details(entry.results)}" for entry in datasets if entry.results is not None
    ]
    return (
        f"{stamp}\n"
        + _section("tabulate format", plain(rows))
        + "\n"
        + _DIVIDER
        + _section("csv format", csv(rows).rstrip("\n"))
        + "\n"
        + _section("markdown format", markdown(rows))
        + _DIVIDER
        + _section("raw format", "\n".join(raw))
    )


def plain(rows: Table) -> str:
    """The table as the `tabulate` package lays it out ("simple"): columns of numbers to the right."""
    columns = [_column(column) for column in zip(*rows, strict=True)]
    rules = ["-" * len(column[0]) for column in columns]
    lines = list(zip(*columns, strict=True))
    lines.insert(1, tuple(rules))
    return "\n".join("  ".join(cells).rstrip() for cells in lines)


def _column(cells: Sequence[str]) -> list[str]:
    header, values = cells[0], list(cells[1:])
    numeric = bool(values) and all(map(_is_number, values))
    if numeric and not all(map(_is_integer, values)):
        values = [f"{float(value):.2f}" for value in values]
    width = max(len(header) + 2, *map(len, values)) if values else len(header) + 2
    return [cell.rjust(width) if numeric else cell.ljust(width) for cell in (header, *values)]


def _is_integer(cell: str) -> bool:
    try:
        int(cell)
    except ValueError:
        return False
    return True


def _is_number(cell: str) -> bool:
    """A digest such as 12e456 overflows, and stays text."""
    try:
        return math.isfinite(float(cell))
    except ValueError:
        return False


def _section(title: str, body: str) -> str:
    return f"{title}\n{'^' * _RULE}\n{body}\n{'$' * _RULE}\n"


def _place(metric: str) -> int:
    return _FIRST_METRICS.index(metric) if metric in _FIRST_METRICS else len(_FIRST_METRICS)


def _without_details(results: Mapping[str, float | str]) -> dict[str, float | str]:
    return {name: value for name, value in results.items() if name != "details"}
