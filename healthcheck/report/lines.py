"""Progress and a report without a live line or a table: for --verbose, --quiet, and whatever reads by line."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator

from healthcheck.progress import Silent
from healthcheck.records import CheckResult, Level, Outcome, Report, Stage
from healthcheck.redact import without_secrets
from healthcheck.report import words


class LineProgress:
    """Every step and every result as a line of its own on standard error."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._last = ""

    def stage(self, stage: Stage, title: str) -> None:
        self._say(f"{stage.value}: {title}")

    def update(self, text: str, *, done: int = 0, total: int = 0) -> None:
        self._say(text + (f" ({done} of {total})" if total else ""))

    def result(self, result: CheckResult) -> None:
        because = f": {result.because}" if result.because else ""
        self._say(f"{result.id} {words.said(result)}{because} ({result.seconds:.2f} s)")

    def close(self) -> None:
        """Nothing is left on the terminal."""

    def _say(self, text: str) -> None:
        if text != self._last:
            self._last = text
            shown = words.plain(without_secrets(text))
            print(f"{time.monotonic() - self._began:8.1f} s  {shown}", file=sys.stderr, flush=True)


class NoProgress(Silent):
    """Says nothing, and leaves nothing on the terminal."""

    def close(self) -> None:
        pass


def brief(report: Report) -> Iterator[str]:
    """The failures, a line each with its repair, and the verdict."""
    grave = [r for r in report.results if r.outcome in {Outcome.FAIL, Outcome.ERROR} or not r.settled]
    by_line: dict[str, list[str]] = {}
    for result in grave:
        by_line.setdefault(_first_line(result), []).append(result.id)
    for line, (first, *others) in by_line.items():
        yield f"{first}{f' and {len(others)} more' if others else ''}: {line}"
    warned = words.warnings(report)
    yield f"Verdict: {words.headline(report)}{f'; {warned}' if warned else ''}"


def _first_line(result: CheckResult) -> str:
    grave = [found for found in words.findings(result) if found.level in {Level.FAIL, Level.UNSETTLED}]
    if not grave:
        return words.plain(result.because).replace("\n", " ")
    fix = f". Fix: {grave[0].fix}" if grave[0].fix else ""
    return words.plain(words.sentence(grave[0]) + fix).replace("\n", " ")
