"""summary.md: the report for a merge request or a job's summary page, in Markdown.

Untrusted text appears only as code, so that markup and mentions in it have no effect.
"""

from __future__ import annotations

import re

from healthcheck.core.records import CheckResult, Finding, Outcome, Report, Stage
from healthcheck.report import words
from healthcheck.text.language import ENGLISH, Translate, Translation
from healthcheck.text.messages import message, msg

MARKS = {Outcome.PASS: "✅", Outcome.WARN: "⚠️", Outcome.SKIP: "➖", Outcome.FAIL: "❌", Outcome.ERROR: "❓"}
MOST_CHECKS = 20
MOST_FINDINGS = 5
MOST_CHARACTERS = 1500
FIGURES = ("value", "low", "high")


def render(report: Report, translation: Translation = ENGLISH) -> str:
    """The verdict, the next step, the checks that did not pass with their repairs, and the figures."""
    wanting = [result for result in report.results if result.findings or result.because or not result.settled]
    grave = [r for r in wanting if r.outcome in {Outcome.FAIL, Outcome.ERROR, Outcome.WARN} or not r.settled]
    grave.sort(key=lambda result: (result.outcome is Outcome.WARN, result.outcome is not Outcome.FAIL))
    say = translation.say
    lines = [
        f"## npu-adapter: {_line(say(words.headline(report)))}",
        "",
        translation.labelled(msg("Next"), "").rstrip(),
    ]
    lines += [*_code(say(words.next_step(report))), "", *_stages(report, say), *_figures(report, say)]
    for result in grave[:MOST_CHECKS]:
        lines += _check(result, translation)
    if len(grave) > MOST_CHECKS:
        lines.append(say(msg("and {grave} more; all of them are in `report.html`.", len(grave) - MOST_CHECKS)))
    lines += ["", say(msg("Asked for: {line}. {counted}.", _line(say(report.asked)), words.counted(report)))]
    return "\n".join(lines) + "\n"


def _stages(report: Report, say: Translate) -> list[str]:
    rows = [f"| {say(msg('stage'))} | {say(msg('checks'))} | |", "|---|---|---|"]
    for stage in Stage:
        results = [result for result in report.results if result.stage is stage]
        if results:
            marks = [f"{MARKS[o]} {n}" for o in Outcome if (n := sum(r.outcome is o for r in results))]
            unsettled = sum(not result.settled for result in results)
            doubtful = say(msg("{unsettled} unsettled", unsettled)) if unsettled else ""
            rows.append(f"| {stage.value} | {' '.join(marks)} | {doubtful} |")
    return [*rows, ""]


def _figures(report: Report, say: Translate) -> list[str]:
    rows = []
    for name, value in report.metrics.items():
        if isinstance(value, dict):
            point, low, high = (value.get(key) for key in FIGURES)
            if isinstance(point, float) and isinstance(low, float) and isinstance(high, float):
                between = say(msg("{low:.1f} to {high:.1f}", 100 * low, 100 * high))
                rows.append(f"| {_line(name)} | {100 * point:.2f} | {between} |")
    head = f"| {say(msg('figure, percent'))} | | {say(msg('95 % interval'))} |"
    return [head, "|---|---|---|", *rows, ""] if rows else []


def _check(result: CheckResult, translation: Translation) -> list[str]:
    say = translation.say
    mark = MARKS[result.outcome] if result.settled or result.outcome is Outcome.FAIL else "❓"
    lines = [
        f"### {mark} {say(result.title)}",
        "",
        f"`{result.id}` {say(msg('{outcome}. {why}', words.said(result), result.why))}",
        "",
    ]
    if result.because:
        lines += _code(say(result.because))
    found = words.findings(result)
    for finding in found[:MOST_FINDINGS]:
        lines += _finding(result, finding, translation)
    if len(found) > MOST_FINDINGS:
        lines.append(say(msg("and {found} more; all of them are in `report.html`.", len(found) - MOST_FINDINGS)))
    return [*lines, ""]


def _finding(result: CheckResult, finding: Finding, translation: Translation) -> list[str]:
    rows = [*words.rows(finding), *([(msg("fix"), finding.fix)] if finding.fix else [])]
    say = translation.say
    lines = _code("\n".join(f"{translation.labelled(message(name), ''):<10}{say(text)}" for name, text in rows))
    rule = words.rule(result, finding)
    return [*lines, "", *([f"> {_line(say(rule.quote()))}", ""] if rule else [])]


def _code(text: str) -> list[str]:
    """A fenced block with a fence that the text does not contain."""
    shown = words.plain(text[:MOST_CHARACTERS]) + ("…" if len(text) > MOST_CHARACTERS else "")
    longest = max((len(run) for run in re.findall("`+", shown)), default=0)
    fence = "`" * max(longest + 1, 3)
    return [f"{fence}text", *shown.split("\n"), fence]


def _line(text: str) -> str:
    """One line of text without markup."""
    flat = " ".join(words.plain(text).split())
    return re.sub(r"([\\`*_\[\]<>|~#&])", r"\\\1", flat)
