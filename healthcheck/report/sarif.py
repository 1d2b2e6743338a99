"""SARIF 2.1.0 for code scanning: a rule per check, a result per finding, at its file and line.

An unsettled check is not a finding about the code, but a notification of the run.
"""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from urllib.parse import quote

from healthcheck import __version__, contract
from healthcheck.core.records import CheckResult, Finding, JsonValue, Level, Outcome, Report, Verdict, exit_status
from healthcheck.report import words
from healthcheck.system import json_text
from healthcheck.text.language import ENGLISH, Translate, Translation
from healthcheck.text.messages import Capitalised, joined, msg

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
LEVELS = {Level.FAIL: "error", Level.WARN: "warning"}
_PLACE = re.compile(r"(?P<file>[^:]+):(?P<line>[1-9]\d{0,8})(?::\d+)?")


def render(report: Report, translation: Translation = ENGLISH) -> bytes:
    """The report as a SARIF log of one run, UTF-8 JSON."""
    return json_text.dump(as_json(report, translation.say))


def as_json(report: Report, say: Translate) -> dict[str, JsonValue]:
    """The report as JSON values."""
    rules = {result.id: index for index, result in enumerate(report.results)}
    return {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "npu-adapter",
                        "semanticVersion": __version__,
                        "rules": [_rule(result, say) for result in report.results],
                    }
                },
                "automationDetails": {"id": "npu-adapter/"},
                "columnKind": "unicodeCodePoints",
                "invocations": [_invocation(report, say)],
                "results": [
                    _result(result, finding, rules[result.id], say)
                    for result in report.results
                    for finding in words.findings(result)
                    if finding.level in LEVELS
                ],
            }
        ],
    }


def _rule(result: CheckResult, say: Translate) -> dict[str, JsonValue]:
    rule = msg("The service's rule: {rule}", result.rule.quote()) if result.rule else ""
    page = msg("`npu-adapter explain {id}` prints the whole page.", result.id)
    help_ = say(joined("\n\n", filter(None, (words.plain(result.why), rule, page))))
    return {
        "id": result.id,
        "name": "".join(part.capitalize() for part in re.split(r"\W+", result.id)),
        "shortDescription": {"text": words.plain(say(result.title))},
        "fullDescription": {"text": words.plain(say(result.why))},
        "help": {"text": help_, "markdown": help_},
        "properties": {"tags": ["npu-adapter", result.stage.value]},
    }


def _result(result: CheckResult, finding: Finding, rule: int, say: Translate) -> dict[str, JsonValue]:
    fix = msg("\n{label}: {text}", Capitalised(msg("fix")), words.plain(finding.fix)) if finding.fix else ""
    file, line = _place(finding)
    return {
        "ruleId": result.id,
        "ruleIndex": rule,
        "level": LEVELS[finding.level],
        "message": {"text": say(joined("", (words.plain(words.sentence(finding)), fix)))},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": quote(file), "uriBaseId": "%SRCROOT%"},
                    "region": {"startLine": line},
                }
            }
        ],
    }


def _place(finding: Finding) -> tuple[str, int]:
    """File and line within the repository; deploy.sh:1 for places outside it, as in the weights."""
    found = _PLACE.fullmatch(finding.where)
    file = words.plain(found["file"]) if found else ""
    path = PurePosixPath(file)
    if not found or path.is_absolute() or ".." in path.parts or " " in file:
        return contract.ENTRY_POINT, 1
    return file, int(found["line"])


def _invocation(report: Report, say: Translate) -> dict[str, JsonValue]:
    """How the run itself ended."""
    return {
        "executionSuccessful": report.verdict is not Verdict.INCONCLUSIVE,
        "exitCode": int(exit_status(report)),
        "toolExecutionNotifications": [
            {
                "level": "error" if result.outcome is Outcome.ERROR else "warning",
                "message": {"text": say(_notification(result))},
            }
            for result in report.results
            if result.outcome is Outcome.ERROR or not result.settled
        ],
    }


def _notification(result: CheckResult) -> str:
    return msg("{id}: {said}. {detail}", result.id, words.said(result), words.detail(result))
