"""The user's own scores of a run's samples, from columns of a file.

UserScores order samples (best@k) and weight their votes (weighted maj@k); they never decide what is right.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from healthcheck.errors import UsageError
from healthcheck.extensions.lab.combining import Combine, combined
from healthcheck.stages.probe.data_sets.rows import rows_of
from healthcheck.stages.probe.records import Grid, ProbeRun
from healthcheck.stages.probe.run.layout import SCORES
from healthcheck.system import json_text
from healthcheck.system.files import read_bounded, read_text, write_atomically
from healthcheck.system.json_text import JsonError
from healthcheck.text.messages import msg

STORED = SCORES
SCORED = " (score)"
"""The suffix of figures that use the user's scores."""
MAX_FILE_BYTES = 2**28


@dataclass(frozen=True, slots=True, kw_only=True)
class UserScores:
    """The scores of the user's own judge; higher is better.

    Attributes:
        source: a file and its columns.
        scores: (problem, repeat, score) of each answered sample.
    """

    source: str = ""
    scores: tuple[tuple[int, int, float], ...] = ()


def stored(folder: Path) -> UserScores:
    """The scores that are stored with a run; empty if there are none.

    Raises:
        UsageError: the file is damaged.
    """
    path = folder / STORED
    if not path.is_file():
        return UserScores()
    try:
        return json_text.load_as(read_bounded(path, MAX_FILE_BYTES), UserScores)
    except JsonError as error:
        raise UsageError(msg("{folder} is damaged: {error}", folder=folder, error=error)) from error


def keep(folder: Path, scores: UserScores) -> None:
    """Store scores with their run, replacing earlier ones."""
    write_atomically(folder / STORED, json_text.dump_line(scores))


def of_grid(run: ProbeRun, chosen: Grid) -> list[list[float]]:
    """The stored scores of a run; empty unless each answer has one. A failed request is never the best."""
    rows = [[run.samples[place] for place in row] for row in chosen.rows]
    known = {(problem, repeat): score for problem, repeat, score in stored(run.folder).scores}
    if not known or any(
        (s.problem, s.repeat) not in known and not s.error for row in rows for s in row
    ):
        return []
    return [[known.get((s.problem, s.repeat), -math.inf) for s in row] for row in rows]


def from_file(run: ProbeRun, path: Path, columns: Sequence[str], combine: Combine) -> UserScores:
    """Scores from JSON lines or CSV: columns, plus `problem` and `repeat` as in logs/samples.jsonl.

    A column is NAME or NAME:WEIGHT; several make one score as `combine` says.

    Raises:
        UsageError: the file cannot be read, a row is not a score, or an answered sample has none.
    """
    answered = {(sample.problem, sample.repeat) for sample in run.samples if not sample.error}
    asked = {(sample.problem, sample.repeat) for sample in run.samples}
    weighted: tuple[tuple[str, float], ...] = ()
    values: dict[tuple[int, int], tuple[float, ...]] = {}
    for line, row in rows_of(path, read_text(path, MAX_FILE_BYTES)):
        where = f"{path}:{line}"
        weighted = weighted or tuple(_weighted(column, row) for column in columns)
        for column in (column for column, _ in weighted if column not in row):
            raise UsageError(
                msg(
                    "{where} has no column {column} (--column names another); it has {row}",
                    where=where,
                    column=repr(column),
                    row=", ".join(row),
                )
            )
        key = (
            _whole(row.get("problem"), where, msg("problem")),
            _whole(row.get("repeat"), where, "repeat"),
        )
        if key not in asked:
            raise UsageError(
                msg(
                    "{where}: the run has no sample of problem {problem}, repeat {repeat}",
                    where=where,
                    problem=key[0],
                    repeat=key[1],
                )
            )
        if key in values:
            raise UsageError(
                msg(
                    "{where}: problem {problem}, repeat {repeat} has a score already",
                    where=where,
                    problem=key[0],
                    repeat=key[1],
                )
            )
        if key in answered:
            values[key] = tuple(_number(row[column], where) for column, _ in weighted)
    missing = sorted(answered - values.keys())
    if missing:
        problem, repeat = missing[0]
        raise UsageError(
            msg(
                "{path} has no score for {missing} of {answered} answers; the first is problem {problem}, "
                "repeat {repeat}",
                path=path,
                missing=len(missing),
                answered=len(answered),
                problem=problem,
                repeat=repeat,
            )
        )
    one = combined(values, combine, [weight for _, weight in weighted])
    named = ", ".join(columns) + (f" by {combine.value}" if len(columns) > 1 else "")
    scores = tuple((*key, _number(one[key], f"--column {named}")) for key in sorted(one))
    return UserScores(source=f"column {named} of {path.name}", scores=scores)


def _weighted(text: str, row: Mapping[str, object]) -> tuple[str, float]:
    """A column and its weight."""
    name, colon, weight = text.rpartition(":")
    return (name, _number(weight, f"--column {text}")) if colon and text not in row else (text, 1.0)


def _whole(value: object, where: str, name: str) -> int:
    number = _number(value, where) if value is not None else None
    if number is None or not number.is_integer():
        raise UsageError(
            msg(
                "{where}: {name} is to be a whole number, as in logs/samples.jsonl, not {value}",
                where=where,
                name=name,
                value=repr(value),
            )
        )
    return int(number)


def _number(value: object, where: str) -> float:
    try:
        number = (
            math.nan
            if isinstance(value, bool) or not isinstance(value, str | int | float)
            else float(value)
        )
    except (ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise UsageError(
            msg(
                "{where}: a score is a number, not {value}",
                where=where,
                value=repr(str(value)[:80]),
            )
        )
    return number
