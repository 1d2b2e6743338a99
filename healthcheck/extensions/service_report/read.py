"""`npu-adapter read`: recomputes a report of the service, with AISBench's figures beside the true ones.

A report.json of the kit itself is printed again.
"""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

from healthcheck.cli import output
from healthcheck.core.records import SCHEMA, Finding, Level, exit_status
from healthcheck.errors import ExitStatus, UsageError
from healthcheck.extensions.service_report import document
from healthcheck.extensions.service_report.archive import EXPECTED, open_reports
from healthcheck.extensions.service_report.reading import Reading, read_tasks
from healthcheck.extensions.service_report.remarks import remarks
from healthcheck.extensions.service_report.task import tasks_of
from healthcheck.report import terminal
from healthcheck.report.words import plain, repair, sentence
from healthcheck.stages.probe.aisbench.client_results import printed
from healthcheck.stages.probe.statistics.estimates import LIKE_THESE, THIS_BANK, Estimate, Summary
from healthcheck.stages.probe.statistics.summary import accuracy_name
from healthcheck.text.language import translation_of_the_process
from healthcheck.text.messages import msg
from healthcheck.text.tables import aligned

_LABELS = {
    Level.FAIL: msg("fault"),
    Level.UNSETTLED: msg("open"),
    Level.WARN: msg("look"),
    Level.NOTE: msg("note"),
}


def run(options: argparse.Namespace) -> int:
    """Read, recompute and print. Returns 0 if figures could be recomputed, 3 if the report does not allow it."""
    output.refuse_unwritable(options.json)
    if options.report.suffix == ".json" and options.report.is_file():
        return _show_own(options.report, options)
    readings = readings_of(options.report)
    lines = (line for reading in readings for line in (*lines_of(reading), ""))
    output.show(output.first_screen(lines, options), options.json, lambda: as_json(readings))
    recomputed = any(reading.truth or reading.regraded for reading in readings)
    return ExitStatus.READY if recomputed else ExitStatus.INCONCLUSIVE


def readings_of(place: Path) -> list[Reading]:
    """The tasks of the reports in a zip file or a folder, recomputed.

    Raises:
        UsageError: it cannot be read, or has no task.
    """
    readings = list(read_tasks(task for report in open_reports(place) for task in tasks_of(report)))
    if not readings:
        raise UsageError(
            msg(
                "{report} has neither predictions nor results nor a summary that can be read; {expected}",
                report=place,
                expected=EXPECTED,
            )
        )
    return readings


def _show_own(path: Path, options: argparse.Namespace) -> int:
    """Print a report of this kit in the reader's language; returns the exit status of its run."""
    if options.json:
        raise UsageError(msg("{path} is JSON already: leave --json away", path=path))
    report = document.load(path)
    translation = translation_of_the_process()
    if options.verbose:
        terminal.show_everything(report, translation)
    else:
        terminal.show(report, translation)
    return exit_status(report)


def as_json(readings: list[Reading]) -> dict[str, object]:
    """All figures as JSON values; fractions, not percent, except those that AISBench printed."""
    return {"schema": SCHEMA, "tasks": [_task_json(reading) for reading in readings]}


def lines_of(reading: Reading) -> Iterator[str]:
    task = reading.task
    place = f"{task.root}/" if task.root else ""
    yield plain(
        msg(
            "{place}{model} on {dataset}, version {version}",
            place=place,
            model=task.model,
            dataset=task.dataset,
            version=task.version or msg("unknown"),
        )
    )
    if reading.grid:
        yield msg(
            "{grid} problems × {repeats} samples, {samples} answered",
            grid=len(reading.grid),
            repeats=reading.repeats,
            samples=len(reading.samples),
        )
    yield ""
    yield from _table(reading)
    width = max(60, shutil.get_terminal_size((100, 40)).columns - 1)
    for remark in remarks(reading):
        said = plain(msg("{labels}: {said}", labels=_LABELS[remark.level], said=_said(remark)))
        yield from output.paragraph(said, width, "      ")


def _table(reading: Reading) -> Iterator[str]:
    shown = {name: figure for name, figure in reported(reading).items() if name != "-"}
    columns = {
        msg("AISBench printed"): shown,
        msg("AISBench would print"): {} if shown else reading.emulated or {},
        msg("true"): column(reading.truth, reading.repeats),
        msg("answered requests only"): column(reading.answered, reading.repeats)
        if reading.unanswered
        else {},
        msg("true, regraded"): column(reading.regraded, reading.repeats),
    }
    if not any(columns.values()):
        return
    yield from side_by_side({title: cells for title, cells in columns.items() if cells})
    intervals = reading.truth or reading.regraded
    if intervals:
        yield msg(
            "percent, in brackets the {level:.0%} interval for other {like_these}",
            level=intervals.estimates[0].level,
            like_these=LIKE_THESE,
        )
    if reading.truth:
        average = f"avg@{reading.repeats}" if reading.repeats > 1 else accuracy_name(1)
        again = reading.truth.estimate(average, THIS_BANK)
        if again:
            yield msg(
                "{average} for {this_bank}: {percent}",
                average=average,
                this_bank=THIS_BANK,
                percent=_percent(again),
            )
    yield ""


def side_by_side(columns: Mapping[str, Mapping[str, str]]) -> Iterator[str]:
    """A table of figures by name, with a column for each origin."""
    names = dict.fromkeys(name for cells in columns.values() for name in cells)
    rows = [(name, *(cells.get(name, "") for cells in columns.values())) for name in names]
    yield from aligned([("", *map(translation_of_the_process().say, columns)), *rows])


def reported(reading: Reading) -> dict[str, str]:
    """The figures of the report itself; those of the results file if the summary is missing."""
    return {**printed(reading.task.results or {}), **reading.task.printed}


def column(summary: Summary | None, repeats: int) -> dict[str, str]:
    """The service's four rows; with fewer than `repeats` samples, only the averages keep their meaning."""
    if summary is None:
        return {}
    n = summary.repeats
    names = {accuracy_name(repeats): accuracy_name(n)}
    if repeats > 1:
        names |= {
            f"avg@{repeats}": f"avg@{n}",
            **{name: name for name in (f"pass@{n}", f"cons@{n}")},
        }
    return {
        row: _percent(estimate)
        for row, name in names.items()
        if (estimate := summary.estimate(name))
    }


def _percent(estimate: Estimate) -> str:
    return f"{100 * estimate.value:.2f} [{100 * estimate.low:.1f}, {100 * estimate.high:.1f}]"


def _said(remark: Finding) -> str:
    return (
        msg("{said}. {fix}", said=sentence(remark), fix=repair(remark))
        if remark.fix
        else sentence(remark)
    )


def _task_json(reading: Reading) -> dict[str, object]:
    task = reading.task
    return {
        "model": task.model,
        "dataset": task.dataset,
        "version": task.version,
        "problems": len(reading.grid),
        "samples_per_problem": reading.repeats,
        "answered": len(reading.samples),
        "unanswered": reading.unanswered,
        "problems_implied_by_printed_figures": reading.problems_implied,
        "printed": reported(reading),
        "recomputed_as_aisbench": reading.emulated,
        "true": reading.truth and reading.truth.estimates,
        "answered_only": reading.answered and reading.answered.estimates,
        "regraded": reading.regraded and reading.regraded.estimates,
        "remarks": [
            {"level": r.level.value, "expected": r.expected, "seen": plain(r.seen), "fix": r.fix}
            for r in remarks(reading)
        ],
    }
