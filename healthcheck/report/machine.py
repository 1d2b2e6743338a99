"""The JSON report for other programs."""

from __future__ import annotations

from dataclasses import asdict

from healthcheck import contract
from healthcheck.core.records import SCHEMA, CheckResult, Finding, JsonValue, Report
from healthcheck.report import words
from healthcheck.report.recorded import record
from healthcheck.system import json_text
from healthcheck.text.messages import Message


def render(report: Report) -> bytes:
    """The report as UTF-8 JSON; `records.SCHEMA` is the version of its schema."""
    return json_text.dump(as_json(report))


def as_json(report: Report) -> dict[str, JsonValue]:
    """The report as JSON values."""
    return {
        "schema": SCHEMA,
        "verdict": report.verdict.value,
        **_texts(
            headline=words.headline(report),
            next_step=words.next_step(report),
            asked=report.asked,
            stopped=report.stopped,
            uncommitted=report.uncommitted,
            scope=report.scope,
            folder=report.folder,
        ),
        "program": list(report.program),
        "next_commands": [step.command for step in words.next_steps(report) if step.command],
        "checks": [_check(result) for result in report.results],
        "metrics": dict(report.metrics),
        "provenance": dict(report.provenance),
        "unknown_about_the_service": list(contract.UNKNOWN),
    }


def _check(result: CheckResult) -> dict[str, JsonValue]:
    return {
        "id": result.id,
        "stage": result.stage.name,
        "outcome": result.outcome.value,
        "settled": result.settled,
        "blocked_by": result.blocked_by or None,
        "waived": result.waived,
        **_texts(
            title=result.title, detail=words.detail(result), fix=words.fix(result), why=result.why
        ),
        "rule": result.rule.quote() if result.rule else None,
        "evidence": [_finding(finding) for finding in words.findings(result)],
        "seconds": round(result.seconds, 6),
    }


def _finding(finding: Finding) -> dict[str, JsonValue]:
    texts = {
        name: words.plain(getattr(finding, name)) for name in ("expected", "seen", "where", "fix")
    }
    more: dict[str, JsonValue] = {"data": dict(finding.evidence)} if finding.evidence else {}
    if finding.command:
        more["command"] = words.plain(finding.command)
    if finding.edits:
        more["edits"] = [asdict(edit) for edit in finding.edits]
    return {"level": finding.level.value, **_texts(**texts), **more}


def _texts(**texts: str) -> dict[str, JsonValue]:
    """Texts for every reader, and the templates and values of messages among them."""
    recorded: dict[str, JsonValue] = {
        name: record(text) for name, text in texts.items() if isinstance(text, Message)
    }
    return {**texts, "messages": recorded}
