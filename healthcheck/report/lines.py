"""Progress and a report without a live line or a table: for --verbose, --quiet, and programs that read by line."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator

from healthcheck.core.progress import Silent
from healthcheck.core.records import CheckResult, Level, Report
from healthcheck.core.stages import Stage
from healthcheck.report import words
from healthcheck.report.heart import BEAT_S, Heart
from healthcheck.text.language import ENGLISH, Translation
from healthcheck.text.messages import msg
from healthcheck.text.redact import without_secrets


class LineProgress(Silent):
    """Prints every step and every result as a separate line on standard error."""

    def __init__(self, translation: Translation = ENGLISH, *, beat_s: float = BEAT_S) -> None:
        self._phrases = translation
        self._began = time.monotonic()
        self._last = ""
        self._heart = Heart(beat_s, self._print)
        self._printing = threading.Lock()

    def stage(self, stage: Stage, title: str) -> None:
        self._heart.start()
        self._say(msg("{value}: {title}", value=stage.name, title=title))

    def update(self, text: str, *, done: int = 0, total: int = 0) -> None:
        self._say(text + (msg(" ({done} of {total})", done=done, total=total) if total else ""))

    def note(self, text: str) -> None:
        self._say(text)

    def result(self, result: CheckResult) -> None:
        said = words.said(result)
        if result.because:
            said = msg("{outcome}: {reason}", outcome=said, reason=result.because)
        self._say(
            msg(
                "{check} {said} ({seconds:.2f} s)",
                check=result.id,
                said=said,
                seconds=result.seconds,
            )
        )

    def _say(self, text: str) -> None:
        if text != self._last:
            self._last = text
            self._print()

    def _print(self) -> None:
        with self._printing:
            shown = words.plain(self._phrases.say(without_secrets(self._last)))
            print(f"{time.monotonic() - self._began:8.1f} s  {shown}", file=sys.stderr, flush=True)

    def close(self) -> None:
        self._heart.stop()


_LABELS = {Level.WARN: msg("warning"), Level.UNSETTLED: msg("unsettled")}
"""A failure has none."""


def brief(report: Report, translation: Translation = ENGLISH) -> Iterator[str]:
    """What did not pass, a line for each problem with its repair, warnings first, and the verdict."""
    by_line: dict[str, list[str]] = {}
    for result in sorted(filter(words.is_wrong, report.results), key=words.gravity):
        for line in dict.fromkeys(_problems(result, translation)):
            by_line.setdefault(line, []).append(result.id)
    for line, (first, *others) in by_line.items():
        more = msg(" and {others} more", others=len(others)) if others else ""
        yield translation.say(msg("{first}{more}: {line}", first=first, more=more, line=line))
    verdict = translation.say(words.headline(report)) + translation.say(
        words.named_warnings(report)
    )
    yield translation.labelled(msg("Verdict"), verdict)


def _problems(result: CheckResult, translation: Translation) -> Iterator[str]:
    grave = [found for found in words.findings(result) if found.level is not Level.NOTE]
    for found in grave:
        said = translation.say(words.observation(found)) + words.place(found)
        said = translation.labelled(_LABELS[found.level], said) if found.level in _LABELS else said
        if repair := words.repair(found):
            said = translation.say(msg("{said}. Fix: {fix}", said=said, fix=repair))
        yield words.plain(said).replace("\n", " ")
    if not grave:
        yield words.plain(translation.say(result.because)).replace("\n", " ")
