"""The terminal: live progress during a run, findings and verdict after it. The only user of rich."""

from __future__ import annotations

import shutil
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.status import Status
from rich.style import Style
from rich.table import Table
from rich.text import Text

from healthcheck.core.records import (
    SOFT_SCORES,
    CheckResult,
    Finding,
    JsonValue,
    Level,
    Outcome,
    Report,
    Verdict,
)
from healthcheck.core.stages import Stage
from healthcheck.report import words
from healthcheck.report.heart import BEAT_S, Heart
from healthcheck.text.language import ENGLISH, Translation, wrapped
from healthcheck.text.messages import Message, message, msg, plural
from healthcheck.text.redact import without_secrets

MARKS = {
    "pass": ("✓", "green"),
    "warn": ("!", "yellow"),
    "skip": ("–", "dim"),
    "fail": ("✗", "red"),
    "error": ("E", "magenta"),
    "open": ("?", "yellow"),
}
"""By the tone of a result."""
COLOURS = {Verdict.READY: "green", Verdict.NOT_READY: "red", Verdict.INCONCLUSIVE: "yellow"}
MOST_FINDINGS = 8
"""The most findings of a check that are printed."""
MOST_FINDINGS_BESIDE_THE_VERDICT = 1
"""The same for a stage on which no verdict depends: its findings are alike, each quotes another answer."""
MOST_LINES = 9
"""For stages and figures together, so that a good run fits 15 lines."""
COMMAND_COLUMN = 16
"""Where commands of repairs begin: below the words."""
LOG_EVERY_S = 8.0
"""In a log, at most one line of progress in this time."""


class TerminalProgress:
    """Progress on standard error: one live line on a terminal, whose clock ticks; in a log, an occasional line."""

    def __init__(self, translation: Translation = ENGLISH, *, beat_s: float = BEAT_S) -> None:
        self._say = translation.say
        self._console = Console(stderr=True, highlight=False, soft_wrap=not sys.stderr.isatty())
        self._line = _ClockedLine(time.monotonic())
        self._live: Status | None = None
        self._heart = Heart(beat_s, self._beat)
        self._printing = threading.Lock()
        self._said = self._line.began
        self._unsaid = Text()

    def stage(self, stage: Stage, title: str) -> None:
        self._end_live()
        heading = Text.assemble((f"{stage.name:<9}", "bold"), f" {self._plain(title)}")
        self._line.show(heading)
        if self._console.is_terminal:
            self._live = self._console.status(self._line)
            self._live.start()
            return
        with self._printing:
            self._unsaid = heading
        self._heart.start()

    def update(self, text: str, *, done: int = 0, total: int = 0) -> None:
        share = f"{100 * done // total:3d} %  " if total else ""
        line = f"{share}{self._plain(text)}"
        self._line.show(Text(line[: self._console.width - 15] if self._live else line))
        if not self._live and time.monotonic() - self._said >= LOG_EVERY_S:
            self._beat()

    def note(self, text: str) -> None:
        with self._printing:
            self._console.print(Text(self._plain(text)))

    def result(self, result: CheckResult) -> None:
        self.update(msg("{id}: {said}", id=result.id, said=words.BY_TONE[result.outcome.value]))

    def close(self) -> None:
        """Remove the live line from the terminal."""
        self._end_live()
        self._heart.stop()

    def _end_live(self) -> None:
        if self._live:
            self._live.stop()
            self._live = None

    def _beat(self) -> None:
        """Print the line, the first time with the heading of its stage."""
        with self._printing:
            self._said = time.monotonic()
            if self._unsaid:
                self._console.print(self._unsaid)
            if self._line.text is not self._unsaid:
                self._console.print(self._line.at_this_moment())
            self._unsaid = Text()

    def _plain(self, text: str) -> str:
        return words.plain(self._say(without_secrets(text)))


class _ClockedLine:
    """A line that begins with the seconds since a moment, as of each time that it is drawn."""

    def __init__(self, began: float) -> None:
        self.began = began
        self.text = Text()

    def show(self, text: Text) -> None:
        self.text = text

    def at_this_moment(self) -> Text:
        return Text.assemble(f"{time.monotonic() - self.began:6.0f} s  ", self.text)

    def __rich__(self) -> Text:
        return self.at_this_moment()


@dataclass(frozen=True)
class _Screen:
    """The console for a report, and its language."""

    console: Console
    translation: Translation

    def say(self, text: str) -> str:
        return self.translation.say(text)


def show(report: Report, translation: Translation = ENGLISH, *, page: Path | None = None) -> None:
    """Print the essential results in the last lines of a screen, on standard output.

    Passed checks are counted, one line per stage; then come warnings, failures and the verdict. `page` is the
    page of this report, None if there is none.
    """
    screen = _Screen(Console(highlight=False, width=_width()), translation)
    stages = tuple(dict.fromkeys(result.stage for result in report.results))
    for stage in stages:
        _print(
            screen, (f"{stage.name:<9}", "bold"), f" {screen.say(words.counted_of(report, stage))}"
        )
    if Stage.REPO not in stages:
        for result in report.results:
            if (
                result.outcome in {Outcome.PASS, Outcome.SKIP}
                and result.findings
                and result.settled
            ):
                _result(screen, result, others=0)
    for alike in _with_one_reason(
        sorted(filter(words.is_wrong, report.results), key=words.gravity)
    ):
        most = MOST_FINDINGS if alike[0].stage.counts else MOST_FINDINGS_BESIDE_THE_VERDICT
        _result(screen, alike[0], others=len(alike) - 1, most=most)
    _metrics(screen, report, most=max(MOST_LINES - len(stages), 3))
    skipped = any(words.tone(result) == "skip" for result in report.results)
    where = (
        msg("; why skipped: --verbose, or the report") if page else msg("; why skipped: --verbose")
    )
    _verdict(screen, report, where if skipped else "")


def show_everything(report: Report, translation: Translation = ENGLISH) -> None:
    """Print the whole report, with every check and its reason, on standard output."""
    screen = _Screen(Console(highlight=False, width=_width()), translation)
    for stage, results in report.by_stage():
        screen.console.print(Text(f"\n{stage.name}", style="bold"))
        for alike in _with_one_reason(results):
            _result(screen, alike[0], others=len(alike) - 1, most=len(alike[0].findings))
            if words.is_wrong(alike[0]):
                why = screen.translation.labelled(msg("why"), screen.say(alike[0].why))
                _print_below(screen, Text(why, style="dim"))
    _metrics(screen, report, most=len(report.metrics))
    _verdict(screen, report)


def _verdict(screen: _Screen, report: Report, note: str = "") -> None:
    warned = screen.say(words.named_warnings(report))
    screen.console.print()
    colour = COLOURS[report.verdict]
    verdict = screen.translation.labelled(msg("Verdict"), screen.say(words.headline(report)))
    _print(screen, (verdict, Style(color=colour, bold=True)), warned)
    _print(screen, (screen.say(words.counted(report) + note), "dim"))
    first, *more = words.next_steps(report)
    _print_step(screen, msg("Next"), first)
    for step in more:
        _print_step(screen, msg("Then"), step)


def _print_step(screen: _Screen, label: Message, step: words.Step) -> None:
    """Print a step behind its label, and its command on a line of its own."""
    _print(screen, screen.translation.labelled(label, screen.say(step.words)))
    _print_command(screen, step.command, indent=2)


def _with_one_reason(results: Iterable[CheckResult]) -> Iterator[tuple[CheckResult, ...]]:
    """The results in order; those skipped for one reason are grouped, at the place of the first."""
    groups: dict[tuple[Outcome, str], list[CheckResult]] = {}
    for result in results:
        reason = result.because if result.because and not result.findings else result.id
        groups.setdefault((result.outcome, reason), []).append(result)
    return map(tuple, groups.values())


def _print(screen: _Screen, *parts: str | tuple[str, str | Style]) -> None:
    """Print texts, those in pairs in their style. Markup is not interpreted: a repair must stay literal."""
    _render(screen, Text.assemble(*parts))


def _print_below(screen: _Screen, shown: RenderableType) -> None:
    """Print indented, below the line of its check."""
    _render(screen, Padding(shown, (0, 0, 0, 6)))


def _print_command(screen: _Screen, command: str, *, indent: int) -> None:
    """Print a command on one line of any length, so that it can be copied; nothing for ""."""
    if command:
        screen.console.print(Text(" " * indent + words.plain(command)), soft_wrap=True)


def _render(screen: _Screen, shown: RenderableType) -> None:
    """Print without trailing blanks."""
    for line in screen.console.render_lines(shown, pad=False):
        text = Text.assemble(*((segment.text, segment.style or "") for segment in line))
        text.rstrip()
        screen.console.print(text, soft_wrap=True)


def _width() -> int | None:
    return None if sys.stdout.isatty() else shutil.get_terminal_size((120, 0)).columns


def _result(screen: _Screen, result: CheckResult, others: int, most: int = MOST_FINDINGS) -> None:
    left = 5 + max(len(result.id), 28)
    title = screen.say(msg("and {others} more", others=others) if others else result.title)
    hung = f"\n{'':<{left}}".join(wrapped(title, max(screen.console.width - left, 12)))
    _print(screen, "  ", MARKS[words.tone(result)], f" {result.id:<28} {hung}")
    if result.because:
        _print_below(screen, Text(words.plain(screen.say(result.because)), style="dim"))
    found = words.findings(result)
    for finding in found[:most]:
        _print_below(screen, _finding(screen, result, finding))
        if finding.level is not Level.NOTE:
            _print_command(screen, finding.command, indent=COMMAND_COLUMN)
    hidden = max(len(found) - most, 0)
    unshown = plural(
        "{n} more finding: --verbose", "{n} more findings: --verbose", hidden, n=hidden
    )
    if words.is_wrong(result) and found:
        page = msg("npu-adapter explain {id}", id=result.id)
        explained = screen.translation.labelled(msg("more"), screen.say(page))
        _print(
            screen,
            "      ",
            (f"{explained}; {screen.say(unshown)}" if hidden else explained, "dim"),
        )
    elif hidden:
        _print(screen, f"      {screen.say(unshown)}")


def _finding(screen: _Screen, result: CheckResult, finding: Finding) -> Table:
    say = screen.translation.say
    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim", min_width=8)
    table.add_column(overflow="fold")
    rule = words.rule(result, finding)
    grave = finding.level is not Level.NOTE
    for name, text in (
        (msg("expected"), say(finding.expected)),
        (
            msg("seen") if finding.expected else msg("note"),
            say(finding.seen) + words.place(finding),
        ),
        (msg("rule"), screen.say(rule.quote()) if rule and grave else ""),
        (msg("fix"), say(finding.fix) if grave else ""),
    ):
        if text:
            table.add_row(Text(screen.say(name)), Text(words.plain(text)))
    return table


def _metrics(screen: _Screen, report: Report, most: int) -> None:
    """The first figures, except avg@n without soft scores, which is the accuracy, and those of the form."""
    shown = (
        f"  {name:<26} {screen.say(_estimate(value))}"
        for name, value in report.metrics.items()
        if isinstance(value, dict) and "value" in value
        if not (name.startswith("avg@") and report.metrics.get(SOFT_SCORES) == 0)
        if name not in {"accuracy_strict", "form_missed"}
    )
    for line in islice(shown, most):
        _print(screen, line)


def _estimate(value: dict[str, JsonValue]) -> str:
    point, low, high = (value.get(key) for key in ("value", "low", "high"))
    if not isinstance(point, float | int):
        return str(point)
    if isinstance(low, float | int) and isinstance(high, float | int):
        return msg(
            "{point:6.2f} %  95 %: {low:.1f} to {high:.1f} ({get})",
            point=100 * point,
            low=100 * low,
            high=100 * high,
            get=message(str(value.get("question"))),
        )
    return msg("{point:6.2f} %", point=100 * point)
