"""The summary in AISBench's four forms, byte for byte: plain table, CSV, Markdown, raw."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

Table = Sequence[Sequence[str]]
_RULE = 128
_DIVIDER = "-" * _RULE + " THIS IS A DIVIDER " + "-" * _RULE + "\n\n"


def table(model: str, dataset: str, version: str, results: Mapping[str, float] | None) -> list[list[str]]:
    """The rows of the summary, the header first; `results` is None if every request failed and none was written."""
    figures = [[dataset, version, name, "gen", f"{figure:.02f}"] for name, figure in (results or {}).items()]
    return [["dataset", "version", "metric", "mode", model], *(figures or [[dataset, "-", "-", "-", "-"]])]


def csv(rows: Table) -> str:
    """Comma-separated, without quoting, as AISBench writes it."""
    return "\n".join(",".join(row) for row in rows) + "\n"


def markdown(rows: Table) -> str:
    lines = ["| " + " | ".join(row) + " |\n" for row in rows]
    lines.insert(1, "|" + " | ".join("-----" for _ in rows[0]) + "|\n")
    return "".join(lines)


def text(stamp: str, model: str, dataset: str, version: str, results: Mapping[str, float] | None) -> str:
    """The .txt form: the other forms one after another."""
    rows = table(model, dataset, version, results)
    raw = ["-" * 31, f"Model: {model}", *([] if results is None else [f"{dataset}: {dict(results)}"])]
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
