"""The files of a run: fleet.json for programs, fleet.html for people, junit.xml for CI servers."""

from __future__ import annotations

import os
from pathlib import Path
from xml.etree import ElementTree as ET

from healthcheck.core.records import JsonValue, Verdict
from healthcheck.errors import ExitStatus
from healthcheck.extensions.fleet import findings, page
from healthcheck.extensions.fleet.records import Attempt, Fleet, Job
from healthcheck.report import folder as report_folder
from healthcheck.system import json_text
from healthcheck.text.language import ENGLISH, Translation
from healthcheck.text.redact import redacted, redactor

SCHEMA = 1
JSON, PAGE, JUNIT = "fleet.json", "fleet.html", "junit.xml"


def write(folder: Path, fleet: Fleet, translation: Translation = ENGLISH) -> None:
    """Write all files.

    Raises:
        KitFailure: the folder cannot be written to.
    """
    report_folder.save(
        folder / JSON, json_text.dump(redacted(as_json(fleet), redactor(os.environ)))
    )
    report_folder.save(folder / PAGE, page.render(fleet, translation))
    report_folder.save(folder / JUNIT, junit(fleet))


def as_json(fleet: Fleet) -> dict[str, JsonValue]:
    """The run as JSON values, without the words of a job, which may hold secrets."""
    return {
        "schema": SCHEMA,
        "exit_status": int(fleet.exit_status),
        "stopped": fleet.stopped,
        "left_out": list(fleet.left_out),
        "jobs": [_job(fleet, job) for job in fleet.jobs],
        "frequent": list(findings.frequent(fleet)),
        "nodes": list(findings.nodes(fleet.attempts)),
    }


def _job(fleet: Fleet, job: Job) -> JsonValue:
    last = fleet.last(job)
    return {
        "name": job.name,
        "repository": job.source.shown,
        "commit": last.commit if last and last.commit else job.source.commit,
        "weights": job.weights,
        "until": job.until.name,
        "npus": job.npus,
        "npu": job.npu,
        "where": job.where,
        "verdict": last.verdict.value if last else None,
        "exit_status": int(last.exit_status) if last else None,
        "attempts": [_attempt(attempt) for attempt in fleet.of(job)],
    }


def _attempt(attempt: Attempt) -> JsonValue:
    plain = json_text.plain(attempt)
    assert isinstance(plain, dict)
    return {**plain, "verdict": attempt.verdict.value, "folder": str(attempt.folder)}


def junit(fleet: Fleet) -> bytes:
    """One case per job: not ready is a failure; inconclusive or no result is an error."""
    lasts = [(job, fleet.last(job)) for job in fleet.jobs]
    failures = sum(last is not None and last.verdict is Verdict.NOT_READY for _, last in lasts)
    errors = sum(last is None or last.verdict is Verdict.INCONCLUSIVE for _, last in lasts)
    time = f"{sum(last.seconds for _, last in lasts if last):.3f}"
    counts = {
        "tests": str(len(lasts)),
        "failures": str(failures),
        "errors": str(errors),
        "time": time,
    }
    root = ET.Element("testsuites", counts | {"name": "npu-adapter fleet"})
    suite = ET.SubElement(root, "testsuite", counts | {"name": "fleet"})
    for job, last in lasts:
        case = ET.SubElement(suite, "testcase", name=job.name, classname="npu-adapter.fleet")
        case.set("time", f"{last.seconds if last else 0:.3f}")
        if last is None or last.exit_status is not ExitStatus.READY:
            kind = "failure" if last and last.verdict is Verdict.NOT_READY else "error"
            child = ET.SubElement(
                case, kind, message=page.said(last), type=page.verdict_words(last)
            )
            problems = last.report.problems if last and last.report else ()
            child.text = "\n".join(f"{problem.check}: {problem.said}" for problem in problems)
    ET.indent(root)
    return (
        b'<?xml version="1.0" encoding="utf-8"?>\n'
        + ET.tostring(root, encoding="unicode").encode()
        + b"\n"
    )
