"""JUnit XML for CI servers: a suite per stage, a case per check.

Only a pass or a warning is a passed case. An unsettled check is an error, as is the kit's own failure: a skipped
case would look harmless.
"""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree import ElementTree as ET

from healthcheck.core.records import CheckResult, Outcome, Report
from healthcheck.report import words
from healthcheck.text.language import ENGLISH, Translation
from healthcheck.text.messages import joined, msg


def render(report: Report, translation: Translation = ENGLISH) -> bytes:
    """The report as UTF-8 XML."""
    headline = words.plain(translation.say(words.headline(report)))
    root = ET.Element("testsuites", _counts(report.results) | {"name": headline})
    for stage, results in report.by_stage():
        suite = ET.SubElement(root, "testsuite", _counts(results) | {"name": stage.name})
        for result in results:
            _case(suite, result, translation)
    ET.indent(root)
    return (
        b'<?xml version="1.0" encoding="utf-8"?>\n'
        + ET.tostring(root, encoding="unicode").encode()
        + b"\n"
    )


def _case(suite: ET.Element, result: CheckResult, translation: Translation) -> None:
    case = ET.SubElement(
        suite,
        "testcase",
        name=result.id,
        classname=f"npu-adapter.{result.stage.name}",
        time=f"{result.seconds:.3f}",
    )
    say, fix = translation.say, words.fix(result)
    repair = msg("{label}: {text}", label=msg("fix"), text=fix) if fix else ""
    text = say(joined("\n", filter(None, (words.detail(result), repair))))
    kind = _kind(result)
    if kind:
        first = text.split("\n", maxsplit=1)[0]
        child = ET.SubElement(
            case, kind, message=f"{say(result.title)}: {say(words.said(result))}. {first}".rstrip()
        )
        if kind != "skipped":
            child.set("type", say(words.said(result)))
        child.text = text
    elif text:
        ET.SubElement(case, "system-out").text = text


def _kind(result: CheckResult) -> str:
    """The element for the result of a case, "" for a passed one."""
    if result.outcome is Outcome.FAIL:
        return "failure"
    if result.outcome is Outcome.ERROR or not result.settled:
        return "error"
    return "skipped" if result.outcome is Outcome.SKIP else ""


def _counts(results: Sequence[CheckResult]) -> dict[str, str]:
    kinds = [_kind(result) for result in results]
    return {
        "tests": str(len(results)),
        "failures": str(kinds.count("failure")),
        "errors": str(kinds.count("error")),
        "skipped": str(kinds.count("skipped")),
        "time": f"{sum(result.seconds for result in results):.3f}",
    }
