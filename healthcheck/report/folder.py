"""The report folder: one report for programs, for a browser and for a merge request."""

from __future__ import annotations

from pathlib import Path

from healthcheck.core.records import Report
from healthcheck.errors import KitFailure, reason_of
from healthcheck.report import machine, page, summary
from healthcheck.stages.probe.records import ProbeRun
from healthcheck.system.files import write_atomically
from healthcheck.text.language import ENGLISH, Translation

JSON, PAGE, SUMMARY = "report.json", "report.html", "summary.md"


def write(folder: Path, report: Report, run: ProbeRun | None = None, translation: Translation = ENGLISH) -> None:
    """Write report.json, report.html and summary.md; `run` is the measurement that belongs to the report.

    Raises:
        KitFailure: the folder cannot be written to.
    """
    save(folder / JSON, machine.render(report))
    save(folder / SUMMARY, summary.render(report, translation).encode())
    save(folder / PAGE, page.render(report, run, translation))


def save(path: Path, data: bytes) -> None:
    """Write one file.

    Raises:
        KitFailure: the file cannot be written.
    """
    try:
        write_atomically(path, data)
    except OSError as error:
        raise KitFailure("cannot write {path}: {reason}", path, reason_of(error)) from error
