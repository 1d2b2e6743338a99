"""The report folder: one report for programs, for a browser and for a merge request."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from healthcheck.core.records import Report
from healthcheck.errors import KitFailure, reason_of
from healthcheck.report import machine, page, summary
from healthcheck.stages.probe.records import ProbeRun
from healthcheck.system.files import write_atomically
from healthcheck.text.language import ENGLISH, Translation
from healthcheck.text.messages import msg

JSON, PAGE, SUMMARY = "report.json", "report.html", "summary.md"


def write(
    folder: Path,
    report: Report,
    run: ProbeRun | None = None,
    translation: Translation = ENGLISH,
    pages: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Write report.html, summary.md and report.json; `run` is the measurement that belongs to the report.

    The last is report.json, so that where it is the others are as well. `pages` is the documentation of checks, by
    their ids.

    Raises:
        KitFailure: the folder cannot be written to.
    """
    files = {
        PAGE: page.render(report, run, translation, pages),
        SUMMARY: summary.render(report, translation).encode(),
        JSON: machine.render(report),
    }
    for name, data in files.items():
        save(folder / name, data)


def save(path: Path, data: bytes) -> None:
    """Write one file.

    Raises:
        KitFailure: the file cannot be written.
    """
    try:
        write_atomically(path, data)
    except OSError as error:
        raise KitFailure(
            msg("cannot write {path}: {reason}", path=path, reason=reason_of(error))
        ) from error
