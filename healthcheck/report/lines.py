"""Progress and a report without a live line or a table: for --verbose, --quiet, and whatever reads by line."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator

from healthcheck.phrases import ENGLISH, Phrases
from healthcheck.progress import Silent
from healthcheck.records import CheckResult, Level, Outcome, Report, Stage
from healthcheck.redact import without_secrets
from healthcheck.report import words


class LineProgress:
    """Every step and every result as a line of its own on standard error."""

    def __init__(self, phrases: Phrases = ENGLISH) -> None:
        self._phrases = phrases
        self._began = time.monotonic()
        self._last = ""

    def stage(self, stage: Stage, title: str) -> None:
        self._say(f"{stage.value}: {title}")

    def update(self, text: str, *, done: int = 0, total: int = 0) -> None:
        self._say(text + (f" ({done} of {total})" if total else ""))

    def note(self, text: str) -> None:
        self._say(text)

    def result(self, result: CheckResult) -> None:
        because = f": {result.because}" if result.because else ""
        self._say(f"{result.id} {words.said(result)}{because} ({result.seconds:.2f} s)")

    def close(self) -> None:
        """Nothing is left on the terminal."""

    def _say(self, text: str) -> None:
        if text != self._last:
            self._last = text
            shown = words.plain(self._phrases.say(without_secrets(text)))
            print(f"{time.monotonic() - self._began:8.1f} s  {shown}", file=sys.stderr, flush=True)


class NoProgress(Silent):
    """Says nothing, and leaves nothing on the terminal."""

    def close(self) -> None:
        pass


def brief(report: Report, phrases: Phrases = ENGLISH) -> Iterator[str]:
    """What did not pass, a line each with its repair, warnings first, and the verdict."""
    by_line: dict[str, list[str]] = {}
    for result in sorted(filter(words.is_wrong, report.results), key=words.gravity):
        by_line.setdefault(_first_line(result, phrases), []).append(result.id)
    for line, (first, *others) in by_line.items():
        more = " " + phrases.say(f"and {len(others)} more") if others else ""
        yield f"{first}{more}: {line}"
    verdict = phrases.say(words.headline(report)) + phrases.say(words.named_warnings(report))
    yield phrases.labelled("Verdict", verdict)


def _first_line(result: CheckResult, phrases: Phrases) -> str:
    grave = [found for found in words.findings(result) if found.level is not Level.NOTE]
    if not grave:
        return words.plain(phrases.beside(result.quotes).say(result.because)).replace("\n", " ")
    phrases = phrases.beside(grave[0].quotes)
    said = phrases.say(words.observation(grave[0])) + words.place(grave[0])
    said = phrases.labelled("warning", said) if result.outcome is Outcome.WARN else said
    fix = ". " + phrases.labelled("Fix", phrases.say(grave[0].fix)) if grave[0].fix else ""
    return words.plain(said + fix).replace("\n", " ")
