"""Where the commands that judge put their report: the terminal, files, a folder, GitHub."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from healthcheck.probe.records import ProbeRun
from healthcheck.records import Report
from healthcheck.report import folder, github, junit, machine, terminal


def arguments(group: argparse._ActionsContainer) -> None:
    """Declare the options."""
    group.add_argument("--json", type=Path, metavar="FILE", help="write the report as JSON; - is standard output")
    group.add_argument("--junit", type=Path, metavar="FILE", help="write the report as JUnit XML")


def publish(
    options: argparse.Namespace, report: Report, out: Path | None = None, run: ProbeRun | None = None
) -> None:
    """Write the report to `out`, where that is given, and to what the options and the environment name; show it.

    Raises:
        UsageError: a file cannot be written.
    """
    if out:
        folder.write(out, report, run)
    text = machine.render(report)
    to_stdout = str(options.json) == "-"
    if options.json and not to_stdout:
        folder.save(options.json, text)
    if options.junit:
        folder.save(options.junit, junit.render(report))
    if os.environ.get("GITHUB_ACTIONS") == "true":
        github.publish(report)
    if to_stdout:
        sys.stdout.buffer.write(text)
    else:
        terminal.show(report)
