"""GitHub Actions and AtomGit Action: the summary on the job's page; on GitHub, findings as annotations of files.

An annotation is a command on a line of the log, so untrusted text is escaped: a line end in it would begin another
command. GitHub reads both output streams; standard error is free if standard output is a report.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from healthcheck.core.records import CheckResult, Finding, Level, Outcome, Report
from healthcheck.errors import KitFailure, reason_of
from healthcheck.report import summary, words
from healthcheck.text.language import ENGLISH, Translation
from healthcheck.text.messages import msg

COMMANDS = {Level.FAIL: "error", Level.UNSETTLED: "error", Level.WARN: "warning"}
ATOMGIT_SUMMARY = "ATOMGIT_STEP_SUMMARY"
"""Names the file of a job's summary on AtomGit (GitCode), whose documentation knows no annotations."""
MOST_CHARACTERS = 2000
_PLACE = re.compile(r"(?P<file>[^\s:]+):(?P<line>\d+)")


def publish(report: Report, translation: Translation = ENGLISH) -> None:
    """Print the annotations, and add the summary to the file that GITHUB_STEP_SUMMARY names.

    Raises:
        KitFailure: that file cannot be written.
    """
    write = getattr(sys.stderr, "write_command", lambda line: print(line, file=sys.stderr))
    for line in commands(report, translation):
        write(line)
    add_summary("GITHUB_STEP_SUMMARY", report, translation)


def add_summary(variable: str, report: Report, translation: Translation = ENGLISH) -> None:
    """Add the summary to the file that a variable names; nothing if the variable is empty.

    Raises:
        KitFailure: that file cannot be written.
    """
    path = os.environ.get(variable)
    if not path:
        return
    try:
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(summary.render(report, translation))
    except OSError as error:
        raise KitFailure(
            msg(
                "cannot write {variable}, {path}: {reason}",
                variable=variable,
                path=path,
                reason=reason_of(error),
            )
        ) from error


def commands(report: Report, translation: Translation = ENGLISH) -> Iterator[str]:
    """One workflow command per finding, failures first: GitHub shows ten errors and ten warnings of a step."""
    yield from _annotations(report, Level.FAIL, translation)
    for result in report.results:
        if result.outcome is Outcome.ERROR or not (result.settled or result.findings):
            said = translation.say(
                msg("{outcome}: {reason}", outcome=words.said(result), reason=result.because)
            )
            yield _command("error", {"title": result.id}, said)
    yield from _annotations(report, Level.UNSETTLED, translation)
    yield from _annotations(report, Level.WARN, translation)


def _annotations(report: Report, level: Level, translation: Translation) -> Iterator[str]:
    for result in report.results:
        for finding in words.findings(result):
            if finding.level is level:
                yield _annotation(COMMANDS[level], result, finding, translation)


def _annotation(
    command: str, result: CheckResult, finding: Finding, translation: Translation
) -> str:
    place = _PLACE.match(finding.where)
    where = {"file": place["file"], "line": place["line"]} if place else {}
    text = translation.say(words.observation(finding)) + words.place(finding)
    if finding.fix:
        text += "\n" + translation.labelled(msg("fix"), translation.say(finding.fix))
    if finding.command:
        text += "\n" + finding.command
    return _command(
        command, {**where, "title": f"{result.id}: {translation.say(result.title)}"}, text
    )


def _command(command: str, properties: dict[str, str], text: str) -> str:
    """A workflow command, escaped as in GitHub's own toolkit."""
    named = ",".join(
        f"{name}={_escaped(value).replace(':', '%3A').replace(',', '%2C')}"
        for name, value in properties.items()
    )
    return f"::{command} {named}::{_escaped(text[:MOST_CHARACTERS])}"


def _escaped(text: str) -> str:
    """Escape a text; a zero-width character breaks the older form of commands, which runners read anywhere."""
    plain = words.plain(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    return plain.replace("##[", "##\u2060[")
