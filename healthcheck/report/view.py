"""The content of the page without a measurement, in reading order. It has no markup and makes no decisions."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import PurePath

from healthcheck import contract
from healthcheck.contract import Rule
from healthcheck.core.records import CheckResult, Finding, JsonValue, Report
from healthcheck.report import labels, words
from healthcheck.report.compared import compared
from healthcheck.text.messages import joined, mapped, msg

SAME = msg("For the same reason.")
MOST_FINDINGS = 20
MOST_CHARACTERS = 3000
MOST_VALUE_CHARACTERS = 600
MOST_LABEL_CHARACTERS = 200
MOST_TAIL_CHARACTERS = 8000
MOST_NAME_CHARACTERS = 80
COMMIT_CHARACTERS = 12
SHOWN_ABOVE = ("phases", "log_tail")
GRAVEST = ("fail", "error", "open", "warn", "pass", "skip")


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingView:
    """A finding as rows of a name and a text, with the service's rule if it breaks one."""

    rows: tuple[tuple[str, str], ...]
    fix: str
    command: str
    rule: Rule | None
    evidence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckView:
    """A check with its findings; `more` of them are not shown."""

    result: CheckResult
    tone: str
    because: str
    findings: tuple[FindingView, ...]
    more: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StageView:
    """A step of the path: its result ("stopped" if the run ended in it) and its duration."""

    name: str
    tone: str
    time: str
    counted: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A phase of the launch: its begin and end in seconds, and its duration in words."""

    label: str
    begin_s: float
    end_s: float
    lasted: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchView:
    """The launch: one sentence, its phases if the log has any, and the last lines of the log."""

    said: str
    spans: tuple[Span, ...]
    tail: str


def page(report: Report) -> dict[str, object]:
    """The values of the page's template, top to bottom."""
    checks = _checks(report)
    label, headline = words.labelled_headline(report)
    return {
        "subject": _subject(report),
        "verdict": report.verdict.value,
        "simulated": label,
        "headline": _short(headline),
        "next_steps": [
            words.Step(words=_short(step.words), command=words.plain(step.command))
            for step in words.next_steps(report)
        ],
        "asked": words.plain(report.asked),
        "counted": words.counted(report),
        "stages": tuple(_stages(report)),
        "open": sorted(
            (c for c in checks if c.tone in GRAVEST[:4]), key=lambda c: GRAVEST.index(c.tone)
        ),
        "closed": [check for check in checks if check.tone not in GRAVEST[:4]],
        "launch": _launch(_mapping(report.provenance.get("launch"))),
        "compared": compared(report.metrics),
        "provenance": tuple(_provenance(report.provenance)),
        "unknown": contract.UNKNOWN,
    }


def _subject(report: Report) -> str:
    """The subject of the report: repository, commit, weights or model, date, as far as known."""
    about = report.provenance
    commit = str(about.get("commit") or "")[:COMMIT_CHARACTERS]
    changed = msg(" with uncommitted changes") if report.uncommitted else ""
    model = _name(about.get("weights")) or str(_mapping(about.get("probe")).get("model") or "")
    parts = (
        _name(about.get("repository")),
        msg("commit {commit}{changed}", commit=commit, changed=changed) if commit else "",
        model[:MOST_NAME_CHARACTERS],
        str(about.get("at") or "")[:10],
    )
    return words.plain(joined(" · ", filter(None, parts)))


def _name(path: JsonValue) -> str:
    return PurePath(path).name[:MOST_NAME_CHARACTERS] if isinstance(path, str) else ""


def _checks(report: Report) -> list[CheckView]:
    """The checks in order; consecutive skips for one reason show the reason once."""
    checks = [_check(result) for result in report.results]
    for place in range(len(checks) - 1, 0, -1):
        if checks[place].because and checks[place].because == checks[place - 1].because:
            checks[place] = replace(checks[place], because=SAME)
    return checks


def _check(result: CheckResult) -> CheckView:
    found = words.findings(result)
    findings, more = (
        tuple(_finding(result, each) for each in found[:MOST_FINDINGS]),
        found[MOST_FINDINGS:],
    )
    tone, because = words.tone(result), _short(result.because)
    return CheckView(result=result, tone=tone, because=because, findings=findings, more=len(more))


def _finding(result: CheckResult, finding: Finding) -> FindingView:
    evidence = (
        json.dumps(dict(finding.evidence), indent=1, ensure_ascii=False) if finding.evidence else ""
    )
    rows = tuple((name, _short(text)) for name, text in words.rows(finding))
    return FindingView(
        rows=rows,
        fix=_short(finding.fix),
        command=words.plain(finding.command),
        rule=words.rule(result, finding),
        evidence=_short(evidence),
    )


def _stages(report: Report) -> Iterator[StageView]:
    spent = _mapping(report.provenance.get("stages"))
    for stage, results in report.by_stage():
        tones = [words.tone(result) for result in results]
        seconds = spent.get(stage.name)
        count = sum(tone != "skip" for tone in tones)
        gravest = min(tones, key=GRAVEST.index)
        ended = report.stopped and any(result.because == report.stopped for result in results)
        yield StageView(
            name=stage.name,
            tone="stopped" if ended and gravest in {"warn", "pass"} else gravest,
            time=words.duration(seconds) if isinstance(seconds, int | float) else "",
            counted=msg("{count} checks", count=count) if count != 1 else msg("1 check"),
        )


def _launch(launch: Mapping[str, JsonValue]) -> LaunchView | None:
    if not launch:
        return None
    ready, seconds = launch.get("ready_s"), launch.get("seconds")
    end = float(ready) if isinstance(ready, int | float) else None
    last = end if end is not None else float(seconds) if isinstance(seconds, int | float) else 0.0
    steps = [(contract.ENTRY_POINT, 0.0), *_phases(launch.get("phases"))]
    spans = tuple(
        _span(name, min(begin, last), min(following, last))
        for (name, begin), (_, following) in zip(steps, [*steps[1:], ("", last)], strict=True)
    )
    lasted = words.duration(last)
    said = msg(
        "No correct answer came: the launch ended as “{get}” after {duration}.",
        get=launch.get("outcome"),
        duration=lasted,
    )
    if end is not None:
        said = msg(
            "The first correct streamed answer came {duration} after the start of deploy.sh.",
            duration=lasted,
        )
        spans += (_span(msg("first token"), last, last),)
    lines = launch.get("log_tail")
    tail = words.plain("\n".join(map(str, lines))) if isinstance(lines, list) else ""
    return LaunchView(said=said, spans=spans, tail=tail[-MOST_TAIL_CHARACTERS:])


def _span(label: str, begin_s: float, end_s: float) -> Span:
    lasted = (
        words.duration(end_s - begin_s)
        if end_s > begin_s
        else msg("at {duration}", duration=words.duration(end_s))
    )
    return Span(label=label, begin_s=begin_s, end_s=end_s, lasted=lasted)


def _phases(value: JsonValue) -> Iterator[tuple[str, float]]:
    for phase in value if isinstance(value, list) else []:
        fields = _mapping(phase)
        at = fields.get("at_s")
        if isinstance(at, int | float):
            yield words.plain(str(fields.get("name"))), float(at)


def _provenance(
    provenance: Mapping[str, JsonValue],
) -> Iterator[tuple[str, tuple[tuple[str, str], ...]]]:
    """Groups of labels and values: first the plain values, then each nested record."""
    flat = {name: value for name, value in provenance.items() if not isinstance(value, dict)}
    if flat:
        yield msg("this run"), tuple(_shown(labels.labelled(flat)))
    for name, value in provenance.items():
        if isinstance(value, dict) and name != "stages":
            shown = {key: inner for key, inner in value.items() if key not in SHOWN_ABOVE}
            yield labels.label((name,)), tuple(_shown(labels.labelled(shown, below=(name,))))


def _shown(rows: Iterator[tuple[str, JsonValue]]) -> Iterator[tuple[str, str]]:
    for label, value in rows:
        most = MOST_CHARACTERS if isinstance(value, list) else MOST_VALUE_CHARACTERS
        yield _short(label, MOST_LABEL_CHARACTERS), _short(labels.text(value), most)


def _mapping(value: JsonValue) -> Mapping[str, JsonValue]:
    return value if isinstance(value, dict) else {}


def _short(text: str, most: int = MOST_CHARACTERS) -> str:
    """The text without control characters; long parts are cut to their beginning and their length."""
    shown = mapped(text, lambda quoted: _beginning(quoted, most))
    return words.plain(shown if len(shown) <= 2 * most else _beginning(text, most))


def _beginning(text: str, most: int) -> str:
    left = len(text) - most
    return (
        text[:most] + msg("… ({left} characters more in report.json)", left=left)
        if left > 0
        else text
    )
