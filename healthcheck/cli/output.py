"""Where the commands that judge put their report, and how they tell of their progress: terminal, files, GitHub."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from healthcheck.progress import Progress
from healthcheck.records import Report

if TYPE_CHECKING:
    from healthcheck.probe.records import ProbeRun


def arguments(group: argparse._ActionsContainer) -> None:
    """Declare the options."""
    group.add_argument("--json", type=Path, metavar="FILE", help="write the report as JSON; - is standard output")
    group.add_argument("--junit", type=Path, metavar="FILE", help="write the report as JUnit XML")
    loudness = group.add_mutually_exclusive_group()
    loudness.add_argument(
        "--quiet", action="store_true", help="no progress; only what stands in the way, and the verdict"
    )
    loudness.add_argument(
        "--verbose", action="store_true", help="every step and result as a line on standard error"
    )


class ProgressToClose(Progress, Protocol):
    """Progress that may have to clear up after itself."""

    def close(self) -> None:
        """The run is over."""


def progress(options: argparse.Namespace) -> ProgressToClose:
    """The listener that was asked for."""
    from healthcheck.report import lines, terminal  # noqa: PLC0415 - --help shows no report

    if options.quiet:
        return lines.NoProgress()
    return lines.LineProgress() if options.verbose else terminal.TerminalProgress()


def publish(
    options: argparse.Namespace, report: Report, out: Path | None = None, run: ProbeRun | None = None
) -> None:
    """Show the report, then write it to what the options name, to the folder `out`, and to GitHub where it runs.

    Raises:
        UsageError: a file cannot be written.
    """
    from healthcheck.report import folder, github, junit, lines, machine, terminal  # noqa: PLC0415 - see progress()

    text = machine.render(report)
    to_stdout = str(options.json) == "-"
    if to_stdout:
        sys.stdout.buffer.write(text)
    elif options.quiet:
        print("\n".join(lines.brief(report)))
    else:
        terminal.show(report)
    if options.json and not to_stdout:
        folder.save(options.json, text)
    if options.junit:
        folder.save(options.junit, junit.render(report))
    if out:
        folder.write(out, report, run)
    if os.environ.get("GITHUB_ACTIONS") == "true":
        github.publish(report)
