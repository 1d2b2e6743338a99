"""The terminal: live progress while a run goes on, the findings and the verdict after it. The one user of rich."""

from __future__ import annotations

import shutil
import sys
import textwrap
import time
from collections.abc import Iterable, Iterator

from rich.console import Console, RenderableType
from rich.markup import escape
from rich.padding import Padding
from rich.status import Status
from rich.table import Table
from rich.text import Text

from healthcheck.records import CheckResult, Finding, JsonValue, Level, Outcome, Report, Stage, Verdict
from healthcheck.redact import without_secrets
from healthcheck.report import words

MARKS = {
    Outcome.PASS: "[green]✓[/]",
    Outcome.WARN: "[yellow]![/]",
    Outcome.SKIP: "[dim]–[/]",
    Outcome.FAIL: "[red]✗[/]",
    Outcome.ERROR: "[magenta]?[/]",
}
OPEN = "[yellow]?[/]"
COLOURS = {Verdict.READY: "green", Verdict.NOT_READY: "red", Verdict.INCONCLUSIVE: "yellow"}
MOST_FINDINGS = 8
LOG_EVERY_S = 15.0


class TerminalProgress:
    """Progress on standard error: one live line on a terminal, a line now and then in a log."""

    def __init__(self) -> None:
        self._console = Console(stderr=True, highlight=False, soft_wrap=not sys.stderr.isatty())
        self._live: Status | None = None
        self._began = time.monotonic()
        self._said = 0.0

    def stage(self, stage: Stage, title: str) -> None:
        self.close()
        self._console.print(f"[bold]{stage.value:<9}[/] {escape(words.plain(without_secrets(title)))}")
        if self._console.is_terminal:
            self._live = self._console.status("")
            self._live.start()
        self._said = time.monotonic()

    def update(self, text: str, *, done: int = 0, total: int = 0) -> None:
        share = f" {100 * done // total:3d} %" if total else ""
        line = f"{time.monotonic() - self._began:6.0f} s{share}  {words.plain(without_secrets(text))}"
        if self._live:
            self._live.update(escape(line[: self._console.width - 4]))
        elif time.monotonic() - self._said >= LOG_EVERY_S or (total and done == total):
            self._said = time.monotonic()
            self._console.print(escape(line))

    def result(self, result: CheckResult) -> None:
        self.update(f"{result.id}: {words.SAID[result.outcome]}")

    def close(self) -> None:
        """Take the live line off the terminal."""
        if self._live:
            self._live.stop()
            self._live = None


def show(report: Report) -> None:
    """Print the whole report on standard output."""
    console = Console(highlight=False, width=_width())
    for stage in Stage:
        results = [result for result in report.results if result.stage is stage]
        if results:
            console.print(f"\n[bold]{stage.value}[/]")
        for alike in _with_one_reason(results):
            _result(console, alike[0], others=len(alike) - 1)
    _metrics(console, report)
    colour = COLOURS[report.verdict]
    console.print()
    _print(console, f"[bold {colour}]Verdict: {escape(words.headline(report))}[/]")
    _print(console, f"[dim]{escape(words.counted(report))}[/]")
    _print(console, f"Next: {escape(words.next_step(report))}")


def _with_one_reason(results: Iterable[CheckResult]) -> Iterator[tuple[CheckResult, ...]]:
    """The results in their order; those skipped for one reason are grouped, at the place of the first."""
    groups: dict[tuple[Outcome, str], list[CheckResult]] = {}
    for result in results:
        reason = result.because if result.because and not result.findings else result.id
        groups.setdefault((result.outcome, reason), []).append(result)
    return map(tuple, groups.values())


def _print(console: Console, shown: RenderableType) -> None:
    """Print without the blanks that fill the lines up."""
    for line in console.render_lines(shown, pad=False):
        text = Text.assemble(*((segment.text, segment.style or "") for segment in line))
        text.rstrip()
        console.print(text, soft_wrap=True)


def _width() -> int | None:
    return None if sys.stdout.isatty() else shutil.get_terminal_size((120, 0)).columns


def _result(console: Console, result: CheckResult, others: int) -> None:
    mark = OPEN if words.is_open(result) else MARKS[result.outcome]
    left = 5 + max(len(result.id), 28)
    title = textwrap.wrap(f"and {others} more" if others else result.title, max(console.width - left, 12))
    hung = f"\n{'':<{left}}".join(map(escape, title))
    _print(console, f"  {mark} {result.id:<28} {hung}")
    if result.because:
        _print(console, Padding(f"[dim]{escape(words.plain(result.because))}[/]", (0, 0, 0, 6)))
    found = words.findings(result)
    for finding in found[:MOST_FINDINGS]:
        _print(console, Padding(_finding(result, finding), (0, 0, 0, 6)))
    if len(found) > MOST_FINDINGS:
        _print(console, f"      and {len(found) - MOST_FINDINGS} more; all of them are in the JSON report")
    if any(finding.level is not Level.NOTE for finding in found):
        _print(console, f"      [dim]more: npu-adapter explain {result.id}[/]")


def _finding(result: CheckResult, finding: Finding) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim", min_width=8)
    table.add_column(overflow="fold")
    where = f" ({finding.where})" if finding.where else ""
    rows = [("expected", finding.expected), ("seen" if finding.expected else "note", finding.seen + where)]
    if finding.level is not Level.NOTE:
        rows.append(("why", result.why))
        rule = words.rule(result, finding)
        if rule:
            rows.append(("rule", rule.quote()))
        rows.append(("fix", finding.fix))
    for name, text in rows:
        if text:
            table.add_row(name, escape(words.plain(text)))
    return table


def _metrics(console: Console, report: Report) -> None:
    for name, value in report.metrics.items():
        if isinstance(value, dict) and "value" in value:
            _print(console, f"  {escape(name):<28} {escape(_estimate(value))}")


def _estimate(value: dict[str, JsonValue]) -> str:
    point, low, high = (value.get(key) for key in ("value", "low", "high"))
    if not isinstance(point, float | int):
        return str(point)
    if isinstance(low, float | int) and isinstance(high, float | int):
        return f"{100 * point:6.2f} %   95 % interval {100 * low:.1f} to {100 * high:.1f} ({value.get('question')})"
    return f"{100 * point:6.2f} %"
