"""A report.json of this kit, read back: the same report, which can be said in another language."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from healthcheck import contract
from healthcheck.contract import Rule
from healthcheck.core.records import CheckResult, Finding, Outcome, Report
from healthcheck.errors import UsageError
from healthcheck.report.recorded import Recorded, read
from healthcheck.report.schema import CheckDocument, FindingDocument, ReportDocument
from healthcheck.report.words import plain
from healthcheck.system import files, json_text
from healthcheck.system.json_text import JsonError
from healthcheck.text.messages import msg

MAX_BYTES = 64 * 2**20
MOST_VALUES = 2_000_000


def load(path: Path) -> Report:
    """The report in a file, whose texts are messages again where their templates were recorded.

    Raises:
        UsageError: the file cannot be read, or this kit did not write it.
    """
    try:
        document = json_text.load_few(files.read_bounded(path, MAX_BYTES), ReportDocument, MOST_VALUES)
    except JsonError as error:
        raise UsageError(msg("{path} is not a report.json of npu-adapter: {error}", path, error)) from error
    rules = _rules()
    return Report(
        verdict=document.verdict,
        results=tuple(_result(check, rules.get(check.rule or "")) for check in document.checks),
        asked=_said(document.messages, "asked", document.asked),
        stopped=_said(document.messages, "stopped", document.stopped),
        uncommitted=_said(document.messages, "uncommitted", document.uncommitted),
        metrics=document.metrics,
        provenance=document.provenance,
    )


def _result(check: CheckDocument, rule: Rule | None) -> CheckResult:
    has_findings = bool(check.evidence)
    reason = "" if has_findings else _said(check.messages, "detail", check.detail)
    return CheckResult(
        id=plain(check.id),
        stage=check.stage,
        title=_said(check.messages, "title", check.title),
        outcome=check.outcome,
        why=_said(check.messages, "why", check.why),
        rule=rule,
        findings=tuple(map(_finding, check.evidence)),
        because=reason if check.outcome is not Outcome.PASS else "",
        settled=check.settled,
        seconds=check.seconds,
    )


def _finding(finding: FindingDocument) -> Finding:
    return Finding(
        level=finding.level,
        expected=_said(finding.messages, "expected", finding.expected),
        seen=_said(finding.messages, "seen", finding.seen),
        fix=_said(finding.messages, "fix", finding.fix),
        where=_said(finding.messages, "where", finding.where),
        evidence=finding.data,
    )


def _said(messages: Mapping[str, Recorded], name: str, text: str) -> str:
    return plain(read(text, messages.get(name)))


def _rules() -> Mapping[str, Rule]:
    """The rules of the service by their quotation; one of another service is left out."""
    return {rule.quote(): rule for rule in vars(contract).values() if isinstance(rule, Rule)}
