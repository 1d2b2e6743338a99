"""Compares the repairs of a report on a commit with the working copy, in which the author may have made them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

from healthcheck.core.ledger import Ledger
from healthcheck.core.records import CheckResult, Edit, Finding, Report
from healthcheck.stages.repo.tree import read_inside
from healthcheck.text.messages import msg
from healthcheck.text.redact import Redact
from healthcheck.verify.fix.edits import MAX_FILE_BYTES, fits


def with_remarks(
    report: Report, ledger: Ledger, root: Path, changed: Collection[str], redact: Redact
) -> Report:
    """The report; a repair says so if the working copy no longer has the text that it replaces.

    `changed` are the paths whose working copy differs from the commit.
    """

    def remarked(finding: Finding, edits: tuple[Edit, ...]) -> Finding:
        file = next(
            (each.file for each in edits if each.file in changed and _is_gone(root, each)), ""
        )
        if not file:
            return finding
        words = msg(
            "the working copy of {file} no longer has this text: commit it first; "
            "if this finding remains, {repair}",
            repair=finding.fix,
            file=redact(file),
        )
        return replace(finding, fix=words)

    def compared(result: CheckResult) -> CheckResult:
        edits = ledger.edits(result.id)
        if not any(edits):
            return result
        return replace(result, findings=tuple(map(remarked, result.findings, edits)))

    return replace(report, results=tuple(map(compared, report.results)))


def _is_gone(root: Path, edit: Edit) -> bool:
    """Whether a file of the working copy lacks the old text of an edit at its place."""
    if not edit.old:
        return False
    data = read_inside(root, edit.file, MAX_FILE_BYTES)
    return data is not None and not fits(edit, data)
