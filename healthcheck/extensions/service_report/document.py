"""Reads a report.json of this kit back, as a report that can be printed in another language."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from healthcheck import contract
from healthcheck.contract import Rule
from healthcheck.core.extensions import stage_of_report
from healthcheck.core.records import CheckResult, Finding, Outcome, Report
from healthcheck.errors import UsageError
from healthcheck.report.recorded import read
from healthcheck.report.schema import CheckDocument, FindingDocument, ReportDocument
from healthcheck.report.words import plain
from healthcheck.system import files, json_text
from healthcheck.system.json_text import JsonError
from healthcheck.text.messages import msg

MAX_BYTES = 64 * 2**20
MOST_VALUES = 2_000_000


def load(path: Path) -> Report:
    """The report in a file; texts with recorded templates become messages again.

    Raises:
        UsageError: the file cannot be read, or this kit did not write it.
    """
    try:
        document = json_text.load_few(
            files.read_bounded(path, MAX_BYTES), ReportDocument, MOST_VALUES
        )
    except JsonError as error:
        raise UsageError(
            msg("{path} is not a report.json of npu-adapter: {error}", path=path, error=error)
        ) from error
    rules, said = _rules(), _said(document)
    return Report(
        verdict=document.verdict,
        results=tuple(_result(check, rules.get(check.rule or "")) for check in document.checks),
        asked=said["asked"],
        stopped=said["stopped"],
        uncommitted=said["uncommitted"],
        scope=said["scope"],
        folder=said["folder"],
        program=tuple(map(plain, document.program)),
        metrics=document.metrics,
        provenance=document.provenance,
    )


def _result(check: CheckDocument, rule: Rule | None) -> CheckResult:
    said = _said(check)
    is_reason = not check.evidence and check.outcome is not Outcome.PASS
    return CheckResult(
        id=said["id"],
        stage=stage_of_report(check.stage),
        title=said["title"],
        outcome=check.outcome,
        why=said["why"],
        rule=rule,
        findings=tuple(map(_finding, check.evidence)),
        because=said["detail"] if is_reason else "",
        blocked_by=check.blocked_by or "",
        waived=check.waived,
        settled=check.settled,
        seconds=check.seconds,
    )


def _finding(finding: FindingDocument) -> Finding:
    said = _said(finding)
    return Finding(
        level=finding.level,
        expected=said["expected"],
        seen=said["seen"],
        fix=said["fix"],
        command=plain(finding.command),
        where=said["where"],
        evidence=finding.data,
        edits=finding.edits,
    )


def _said(document: ReportDocument | CheckDocument | FindingDocument) -> dict[str, str]:
    """The texts of a record by name; those with recorded templates become messages again."""
    texts = {name: text for name, text in vars(document).items() if isinstance(text, str)}
    return {name: plain(read(text, document.messages.get(name))) for name, text in texts.items()}


def _rules() -> Mapping[str, Rule]:
    """The rules of the service by their quotation, without those of another service."""
    return {rule.quote(): rule for rule in vars(contract).values() if isinstance(rule, Rule)}
