"""summary.md: the report for a merge request or a job's summary page, in Markdown.

Untrusted text appears only as code, so that markup and mentions in it have no effect.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from healthcheck.core.records import Finding, JsonValue, Outcome, Report
from healthcheck.report import page, words
from healthcheck.text.language import ENGLISH, Translation
from healthcheck.text.messages import message, msg

MARKS = {"pass": "✅", "warn": "⚠️", "skip": "➖", "fail": "❌", "error": "❓", "open": "❓"}
"""By the tone of a result."""
MOST_CHECKS = 20
MOST_FINDINGS = 5
MOST_CHARACTERS = 1500
FIGURES = ("value", "low", "high")


def render(report: Report, translation: Translation = ENGLISH) -> str:
    """The verdict, the next step, the checks that did not pass with their repairs, and the figures."""

    def labelled(name: str) -> str:
        return translation.labelled(message(name), "").rstrip()

    def rows(finding: Finding) -> str:
        found = [*words.rows(finding), *([(msg("fix"), finding.fix)] if finding.fix else [])]
        lines = [f"{labelled(name):<10}{translation.say(text)}" for name, text in found]
        return "\n".join((*lines, finding.command) if finding.command else lines)

    wanting = [
        result
        for result in report.results
        if result.findings or result.because or not result.settled
    ]
    grave = [
        r
        for r in wanting
        if r.outcome in {Outcome.FAIL, Outcome.ERROR, Outcome.WARN} or not r.settled
    ]
    grave.sort(
        key=lambda result: (result.outcome is Outcome.WARN, result.outcome is not Outcome.FAIL)
    )
    text = page.template("summary.md.j2", translation).render(
        report=report,
        words=words,
        stages=list(_stages(report)),
        figures=list(_figures(report)),
        grave=grave,
        marks=MARKS,
        most_checks=MOST_CHECKS,
        most_findings=MOST_FINDINGS,
        labelled=labelled,
        rows=rows,
        following=_following(report, translation),
        line=lambda text: _line(translation.say(text)),
        code=lambda text: _code(translation.say(text)),
    )
    return text + "\n"


def _following(report: Report, translation: Translation) -> str:
    """What to do next: words and commands, each on a line of its own."""
    steps = words.next_steps(report)
    lines = (part for step in steps for part in (translation.say(step.words), step.command))
    return "\n".join(filter(None, lines))


def _stages(report: Report) -> Iterator[tuple[str, str, int]]:
    """Each stage that ran, its checks by outcome, and how many are unsettled."""
    for stage, results in report.by_stage():
        counts = ((each, sum(result.outcome is each for result in results)) for each in Outcome)
        counted = " ".join(f"{MARKS[outcome.value]} {count}" for outcome, count in counts if count)
        yield stage.name, counted, sum(not result.settled for result in results)


def _figures(report: Report) -> Iterator[tuple[str, dict[str, JsonValue]]]:
    for name, value in report.metrics.items():
        if isinstance(value, dict) and all(isinstance(value.get(key), float) for key in FIGURES):
            yield name, value


def _code(text: str) -> str:
    """A fenced block with a fence that the text does not contain."""
    shown = words.plain(text[:MOST_CHARACTERS]) + ("…" if len(text) > MOST_CHARACTERS else "")
    longest = max((len(run) for run in re.findall("`+", shown)), default=0)
    fence = "`" * max(longest + 1, 3)
    return f"{fence}text\n{shown}\n{fence}"


def _line(text: str) -> str:
    """One line of text without markup."""
    flat = " ".join(words.plain(text).split())
    return re.sub(r"([\\`*_\[\]<>|~#&])", r"\\\1", flat)
