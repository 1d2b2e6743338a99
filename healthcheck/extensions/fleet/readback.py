"""Reads a report of `verify` back. It comes from another machine, where a submission ran: nothing in it is trusted.

Every file, text and number is bounded, every text is plain, and report.html counts only if it begins with this
kit's policy for it, under which no other script runs.
"""

from __future__ import annotations

import html
import math
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from healthcheck.core.records import SIMULATOR, JsonValue, Stage, Verdict
from healthcheck.errors import UsageError
from healthcheck.extensions.fleet.records import Problem, ReportFacts, StageFacts, Tone
from healthcheck.report import folder as report_folder
from healthcheck.report import page
from healthcheck.report.recorded import Recorded, read
from healthcheck.report.words import plain
from healthcheck.system import files, json_text
from healthcheck.system.json_text import JsonError
from healthcheck.text.messages import msg
from healthcheck.text.redact import without_secrets

MAX_REPORT_BYTES = 32 * 2**20
MAX_PAGE_BYTES = 64 * 2**20
MAX_LOG_BYTES = 64 * 2**10
MAX_CHECKS = 2000
MAX_PROBLEMS = 50
MAX_TEXT = 300
_CHECK = re.compile(r"[a-z0-9]+(?:[/-][a-z0-9]+){0,8}")
_GRAVEST = (Tone.FAIL, Tone.ERROR, Tone.OPEN, Tone.WARN, Tone.PASS, Tone.SKIP)
_HEAD = re.compile(
    r'<!DOCTYPE html>\s*<html lang="(?:en|zh-CN)">\s*<head>\s*<meta charset="utf-8">\s*'
    r'<meta http-equiv="Content-Security-Policy" content="(?P<policy>[^"]{0,2000})">'
)


class UnreadableError(UsageError):
    """There is no report, or it is not one of this kit; the message says why."""


def facts(folder: Path) -> ReportFacts:
    """What the report in a folder says.

    Raises:
        UnreadableError: see there.
    """
    place = folder / report_folder.JSON
    if not place.exists():
        raise UnreadableError(msg("there is no report"))
    try:
        report = json_text.load(files.read_bounded(place, MAX_REPORT_BYTES))
    except (UsageError, JsonError) as error:
        raise UnreadableError(msg("the report cannot be read: {error}", short(str(error)))) from error
    try:
        return _facts(report, page_is_ours(folder / report_folder.PAGE))
    except (KeyError, TypeError, ValueError) as error:
        raise UnreadableError(
            msg("the report has another shape than this kit writes ({error})", short(repr(error)))
        ) from error


def _facts(report: JsonValue, has_page: bool) -> ReportFacts:
    if not isinstance(report, dict) or not isinstance(report["checks"], list):
        raise TypeError(msg("no list of checks"))
    checks = [check for check in report["checks"][:MAX_CHECKS] if isinstance(check, dict)]
    if len(checks) != len(report["checks"]):
        raise ValueError(msg("more than {max_checks} checks, or what is none", MAX_CHECKS))
    provenance = report.get("provenance")
    headline = short(str(report["headline"]))
    return ReportFacts(
        verdict=Verdict(report["verdict"]),
        headline=headline,
        recorded=_recorded(report, "headline", headline),
        stages=tuple(_stages(checks)),
        problems=tuple(_problems(checks))[:MAX_PROBLEMS],
        simulated=isinstance(provenance, dict) and provenance.get("server") == SIMULATOR,
        page=has_page,
    )


def _stages(checks: Iterable[Mapping[str, JsonValue]]) -> Iterable[StageFacts]:
    tones: dict[Stage, list[Tone]] = {}
    times: dict[Stage, float] = {}
    for check in checks:
        stage = Stage(check["stage"])
        tones.setdefault(stage, []).append(_tone(check))
        times[stage] = times.get(stage, 0.0) + _seconds(check.get("seconds"))
    for stage in Stage:
        if stage in tones:
            worst = min(tones[stage], key=_GRAVEST.index)
            yield StageFacts(stage=stage, tone=worst, checks=len(tones[stage]), seconds=times[stage])


def _problems(checks: Iterable[Mapping[str, JsonValue]]) -> Iterable[Problem]:
    for check in checks:
        tone = _tone(check)
        if tone in {Tone.FAIL, Tone.ERROR, Tone.OPEN}:
            name = str(check["id"])
            if len(name) > 80 or not _CHECK.fullmatch(name):
                raise ValueError(msg("a check with an impossible name"))
            text = "detail" if check.get("detail") else "title"
            said = short(str(check.get(text) or ""))
            yield Problem(check=name, tone=tone, said=said, recorded=_recorded(check, text, said))


def _recorded(record: Mapping[str, JsonValue], name: str, said: str) -> Recorded | None:
    """The message of a text that is said on one line; None where it does not say just that."""
    messages = record.get("messages")
    if not isinstance(messages, dict) or name not in messages:
        return None
    recorded = json_text.convert(messages[name], Recorded)
    on_one_line = replace(recorded, separator=" ") if recorded.separator == "\n" else recorded
    return on_one_line if read(said, on_one_line) is not said else None


def _tone(check: Mapping[str, JsonValue]) -> Tone:
    tone = Tone(check["outcome"])
    unsettled = check.get("settled") is not True and tone not in {Tone.FAIL, Tone.ERROR}
    return Tone.OPEN if unsettled else tone


def _seconds(value: JsonValue) -> float:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 10**9
    return max(float(value), 0.0) if is_number and math.isfinite(value) else 0.0  # type: ignore[arg-type]


def short(text: str) -> str:
    """A text on one line, without secrets and control characters, at most MAX_TEXT long."""
    line = " ".join(plain(without_secrets(text[: 4 * MAX_TEXT])).split())
    return line if len(line) <= MAX_TEXT else f"{line[: MAX_TEXT - 1]}…"


def page_is_ours(path: Path) -> bool:
    """Whether a page begins with this kit's policy, which lets no script run but the kit's own."""
    try:
        head = files.read_bounded(path, MAX_PAGE_BYTES)[:4096].decode("utf-8", "replace")
    except UsageError:
        return False
    found = _HEAD.match(head)
    return found is not None and html.unescape(found["policy"]) == page.policy()


def tail(log: Path) -> str:
    """The end of what `verify` wrote, at most MAX_LOG_BYTES of it."""
    try:
        with log.open("rb") as file:
            file.seek(max(file.seek(0, os.SEEK_END) - MAX_LOG_BYTES, 0))
            return file.read(MAX_LOG_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""


def last_words(log: Path) -> str:
    """The last line that `verify` wrote, "" if there is none."""
    return next((short(line) for line in reversed(tail(log).splitlines()) if line.strip()), "")
