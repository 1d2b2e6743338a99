"""Reads a report of `verify` from another machine, where a submission ran: nothing in it is trusted.

Every file, text and number is bounded, every text is plain, and report.html counts only if it begins with this
kit's policy, under which no other script runs.
"""

from __future__ import annotations

import html
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from healthcheck.core.extensions import stage_of_report
from healthcheck.core.records import SIMULATOR, Outcome
from healthcheck.errors import UsageError
from healthcheck.extensions.fleet.records import Problem, ReportFacts, StageFacts, Tone
from healthcheck.report import folder as report_folder
from healthcheck.report import page
from healthcheck.report.recorded import Recorded, read
from healthcheck.report.schema import CheckDocument, ReportDocument
from healthcheck.report.words import plain
from healthcheck.system import files, json_text
from healthcheck.system.json_text import JsonError
from healthcheck.text.messages import msg
from healthcheck.text.redact import without_secrets

MAX_REPORT_BYTES = 32 * 2**20
MAX_PAGE_BYTES = 64 * 2**20
MAX_LOG_BYTES = 64 * 2**10
MOST_VALUES = 2_000_000
MAX_CHECKS = 2000
MAX_PROBLEMS = 50
MAX_TEXT = 300
MAX_SECONDS = 10**9
_STAGE = re.compile(r"[a-z0-9-]{1,40}")
_ID = re.compile(r"(?=.{1,80}\Z)[a-z0-9]+(?:[/-][a-z0-9]+){0,8}")
_GRAVEST = (Tone.FAIL, Tone.ERROR, Tone.OPEN, Tone.WARN, Tone.PASS, Tone.SKIP)
_HEAD = re.compile(
    r'<!DOCTYPE html>\s*<html lang="(?:en|zh-CN)">\s*<head>\s*<meta charset="utf-8">\s*'
    r'<meta http-equiv="Content-Security-Policy" content="(?P<policy>[^"]{0,2000})">'
)


class UnreadableError(UsageError):
    """There is no report, or it is not one of this kit; the message says why."""


def facts(folder: Path) -> ReportFacts:
    """Read the report in a folder.

    Raises:
        UnreadableError: there is no report, or it cannot be used.
    """
    place = folder / report_folder.JSON
    if not place.exists():
        raise UnreadableError(msg("there is no report"))
    try:
        report = json_text.load_few(
            files.read_bounded(place, MAX_REPORT_BYTES), ReportDocument, MOST_VALUES
        )
    except (UsageError, JsonError) as error:
        raise UnreadableError(
            msg("the report cannot be read: {error}", error=short(str(error)))
        ) from error
    if wrong := _impossible(report.checks):
        raise UnreadableError(
            msg("the report has another shape than this kit writes ({error})", error=wrong)
        )
    headline = short(report.headline)
    return ReportFacts(
        verdict=report.verdict,
        headline=headline,
        recorded=_recorded(report, "headline", headline),
        stages=tuple(_stages(report.checks)),
        problems=tuple(_problems(report.checks))[:MAX_PROBLEMS],
        simulated=report.provenance.get("server") == SIMULATOR,
        page=page_is_ours(folder / report_folder.PAGE),
    )


def _impossible(checks: Sequence[CheckDocument]) -> str:
    if len(checks) > MAX_CHECKS:
        return msg("more than {max_checks} checks", max_checks=MAX_CHECKS)
    return (
        ""
        if all(_ID.fullmatch(check.id) and _STAGE.fullmatch(check.stage) for check in checks)
        else msg("a check with an impossible name")
    )


def _stages(checks: Iterable[CheckDocument]) -> Iterable[StageFacts]:
    """The stages of a report, in the order of their first checks."""
    checks = tuple(checks)
    for name in dict.fromkeys(check.stage for check in checks):
        of_stage = [check for check in checks if check.stage == name]
        worst = min(map(_tone, of_stage), key=_GRAVEST.index)
        seconds = sum(check.seconds for check in of_stage if 0 <= check.seconds < MAX_SECONDS)
        stage = stage_of_report(name)
        yield StageFacts(stage=stage, tone=worst, checks=len(of_stage), seconds=seconds)


def _problems(checks: Iterable[CheckDocument]) -> Iterable[Problem]:
    for check in checks:
        if (tone := _tone(check)) in {Tone.FAIL, Tone.ERROR, Tone.OPEN}:
            said = short(check.detail or check.title)
            recorded = _recorded(check, "detail" if check.detail else "title", said)
            yield Problem(check=check.id, tone=tone, said=said, recorded=recorded)


def _tone(check: CheckDocument) -> Tone:
    is_open = not check.settled and check.outcome not in {Outcome.FAIL, Outcome.ERROR}
    return Tone.OPEN if is_open else Tone(check.outcome.value)


def _recorded(record: ReportDocument | CheckDocument, name: str, said: str) -> Recorded | None:
    """The message behind a one-line text; None if the message does not render to that text."""
    recorded = record.messages.get(name)
    if recorded and recorded.separator == "\n":
        recorded = replace(recorded, separator=" ")
    return recorded if read(said, recorded) is not said else None


def short(text: str) -> str:
    """A text on one line, without secrets and control characters, at most MAX_TEXT long."""
    line = " ".join(plain(without_secrets(text[: 4 * MAX_TEXT])).split())
    return line if len(line) <= MAX_TEXT else f"{line[: MAX_TEXT - 1]}…"


def page_is_ours(path: Path) -> bool:
    """Whether a page begins with this kit's policy, which allows only the kit's own script."""
    try:
        head = files.read_bounded(path, MAX_PAGE_BYTES)[:4096].decode("utf-8", "replace")
    except UsageError:
        return False
    found = _HEAD.match(head)
    return found is not None and html.unescape(found["policy"]) == page.policy()


def tail(log: Path) -> str:
    """The end of `verify`'s output, at most MAX_LOG_BYTES."""
    try:
        with log.open("rb") as file:
            file.seek(max(file.seek(0, os.SEEK_END) - MAX_LOG_BYTES, 0))
            return file.read(MAX_LOG_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""


def last_words(log: Path) -> str:
    """The last line of `verify`'s output, or ""."""
    return next((short(line) for line in reversed(tail(log).splitlines()) if line.strip()), "")
