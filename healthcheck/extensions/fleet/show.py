"""A run on the terminal: a line for each running job, each start and each end; a table at the end."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from healthcheck.core.records import Verdict
from healthcheck.core.stages import Stage
from healthcheck.extensions.fleet import page
from healthcheck.extensions.fleet.machines import Running
from healthcheck.extensions.fleet.records import Attempt, Fleet, Job
from healthcheck.report.page import TONES
from healthcheck.report.words import duration
from healthcheck.text.language import ENGLISH, Translate, Translation
from healthcheck.text.messages import msg
from healthcheck.text.tables import aligned

COLOURS = {Verdict.READY: "green", Verdict.NOT_READY: "red", Verdict.INCONCLUSIVE: "yellow"}
LONGEST_LINE = 160


class Show:
    """Prints a line for each start and end on standard error; on a terminal, also one live line per running job.

    It never decides. If it is quiet, it shows nothing.
    """

    def __init__(self, total: int, translation: Translation, *, quiet: bool) -> None:
        self._say_in = translation.say
        self._console = Console(
            stderr=True, highlight=False, soft_wrap=not sys.stderr.isatty(), quiet=quiet
        )
        self._total = total
        self._ended: set[str] = set()
        self._running: dict[str, tuple[float, str]] = {}
        self._live: Live | None = None
        if self._console.is_terminal and not quiet:
            self._live = Live(get_renderable=self._lines, console=self._console, transient=True)
            self._live.start()

    def began(self, job: Job, number: int) -> None:
        """Show that an attempt starts."""
        self._running[job.name] = (time.monotonic(), "")
        said = (
            msg("attempt {number} begins", number=number) if number > 1 else msg("the job begins")
        )
        self._say(Text(self._say_in(msg("{name}: {said}", name=job.name, said=said)), style="dim"))

    def moved(self, running: Running) -> None:
        """Show the stage of a job."""
        began, before = self._running.get(running.job, (time.monotonic(), ""))
        self._running[running.job] = (began, running.stage or before)

    def ended(self, attempt: Attempt, *, again: bool) -> None:
        """Show that an attempt has ended; `again` means that the job is retried."""
        self._running.pop(attempt.job, None)
        if not again:
            self._ended.add(attempt.job)
        say = self._say_in
        parts: list[str | tuple[str, str]] = [
            f"{attempt.job}: ",
            (say(page.verdict_words(attempt)), COLOURS[attempt.verdict]),
            f" ({', '.join(filter(None, (say(duration(attempt.seconds)), attempt.node)))})",
            "; " + say(msg("it is tried again")) if again else "",
            f": {say(page.said(attempt))}" if attempt.verdict is not Verdict.READY else "",
        ]
        self._say(Text.assemble(f"[{len(self._ended)}/{self._total}] ", *parts))

    def close(self) -> None:
        """Remove the live lines from the terminal."""
        if self._live:
            self._live.stop()
            self._live = None

    def _say(self, text: Text) -> None:
        text.truncate(
            self._console.width if self._console.is_terminal else LONGEST_LINE * 4,
            overflow="ellipsis",
        )
        self._console.print(text)

    def _lines(self) -> Table:
        table = Table.grid(padding=(0, 2))
        for name, (began, stage) in sorted(self._running.items()):
            elapsed = time.monotonic() - began
            table.add_row(
                name, stage or self._say_in(msg("the job begins")), self._say_in(duration(elapsed))
            )
        return table


def table(fleet: Fleet, translation: Translation = ENGLISH) -> list[str]:
    """The lines of the closing table, a row per job, and the count of the verdicts."""
    headline = translation.say(page.headline(fleet))
    stages = page.stages_that_ran(fleet)
    return [
        *aligned(list(_rows(fleet, stages, translation.say))),
        "",
        f"{headline[:1].upper()}{headline[1:]}",
    ]


def _rows(fleet: Fleet, stages: tuple[Stage, ...], say: Translate) -> Iterator[tuple[str, ...]]:
    names = (stage.name for stage in stages)
    yield (say(msg("job")), say(msg("verdict")), *names, say(msg("time")), say(msg("why")))
    for job in fleet.jobs:
        last = fleet.last(job)
        tones = (
            {facts.stage: facts.tone.value for facts in last.report.stages}
            if last and last.report
            else {}
        )
        marks = (TONES.get(tones.get(stage, ""), "·") for stage in stages)
        took = say(duration(last.seconds)) if last else ""
        yield (job.name, say(page.verdict_words(last)), *marks, took, _why(last, say))


def _why(last: Attempt | None, say: Translate) -> str:
    """Why a job is not ready, on one line; the column of the verdict says all of a ready one."""
    if last and last.verdict is Verdict.READY:
        return ""
    why = say(page.said(last)).replace("\n", " ")
    return why if len(why) <= LONGEST_LINE else f"{why[: LONGEST_LINE - 1]}…"
