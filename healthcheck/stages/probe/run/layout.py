"""The paths in a run folder."""

from __future__ import annotations

from pathlib import Path

from healthcheck.errors import UsageError
from healthcheck.text.messages import msg

SETTINGS = "configs/probe.json"
PROBLEMS = "configs/problems.jsonl"
JOURNAL = "logs/samples.jsonl"
ALONE = "logs/alone.jsonl"
OUTCOME = "logs/outcome.json"
METRICS = "results/metrics.json"
GRADES = "results/grades.jsonl"
REPORT = "report.json"
FILES = (SETTINGS, PROBLEMS, JOURNAL, ALONE, OUTCOME, METRICS, GRADES)
"""The files of the samples and their figures, without the report."""


def refuse_used(folder: Path) -> None:
    """Make sure that a new run does not overwrite another.

    Raises:
        UsageError: the folder already holds a run.
    """
    if (folder / SETTINGS).exists():
        raise UsageError(
            msg(
                "{folder} holds a run already: continue it with --resume {folder}, or name another --out",
                folder=folder,
            )
        )
