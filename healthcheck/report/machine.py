"""The JSON report: the schema that other programs read."""

from __future__ import annotations

from healthcheck.contract import UNKNOWN
from healthcheck.core.records import SCHEMA, CheckResult, Finding, JsonValue, Report
from healthcheck.report import words
from healthcheck.report.recorded import records
from healthcheck.system import json_text


def render(report: Report) -> bytes:
    """The report as UTF-8 JSON, whose shape `records.SCHEMA` numbers."""
    return json_text.dump(as_json(report))


def as_json(report: Report) -> dict[str, JsonValue]:
    """The report as JSON values."""
    texts = {
        "headline": words.headline(report),
        "next_step": words.next_step(report),
        "asked": report.asked,
        "stopped": report.stopped,
        "uncommitted": report.uncommitted,
    }
    return {
        "schema": SCHEMA,
        "verdict": report.verdict.value,
        **texts,
        "messages": records(texts),
        "checks": [_check(result) for result in report.results],
        "metrics": dict(report.metrics),
        "provenance": dict(report.provenance),
        "unknown_about_the_service": list(UNKNOWN),
    }


def _check(result: CheckResult) -> dict[str, JsonValue]:
    texts = {
        "title": result.title,
        "detail": words.detail(result),
        "fix": words.fix(result),
        "why": result.why,
    }
    return {
        "id": result.id,
        "stage": result.stage.value,
        "outcome": result.outcome.value,
        "settled": result.settled,
        **texts,
        "messages": records(texts),
        "rule": result.rule.quote() if result.rule else None,
        "evidence": [_finding(finding) for finding in words.findings(result)],
        "seconds": round(result.seconds, 6),
    }


def _finding(finding: Finding) -> dict[str, JsonValue]:
    texts = {
        "expected": words.plain(finding.expected),
        "seen": words.plain(finding.seen),
        "where": words.plain(finding.where),
        "fix": words.plain(finding.fix),
    }
    return {
        "level": finding.level.value,
        **texts,
        "messages": records(texts),
        **({"data": dict(finding.evidence)} if finding.evidence else {}),
    }
