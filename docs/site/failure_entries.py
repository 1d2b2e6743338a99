"""Every entry of healthcheck/data/failures.yaml, for the end of the page on known failures."""

from __future__ import annotations

import re
from collections.abc import Iterator

from markdown_text import escaped

from healthcheck.stages.service.catalogue import FILE, Failure, Severity, catalogue
from healthcheck.text.language import Translate
from healthcheck.text.messages import joined, msg

SEVERITIES = {
    Severity.FATAL: msg("fatal"),
    Severity.ERROR: msg("error"),
    Severity.SYMPTOM: msg("symptom"),
    Severity.KIND: msg("kind"),
    Severity.PART: msg("part"),
    Severity.WARNING: msg("warning"),
    Severity.GENERIC: msg("generic"),
}
_HEADING_OR_ENTRY = re.compile(
    r"^# --- (?P<heading>[\w ,]+?) -*$|^- id: (?P<id>\S+)$", re.MULTILINE
)


def text(say: Translate) -> str:
    """The headings and the entries of the file, as they follow each other."""
    failures = {failure.id: failure for failure in catalogue().failures}
    parts = [""]
    for found in _HEADING_OR_ENTRY.finditer(FILE.read_text("utf-8")):
        parts += (
            [f"## {say(found['heading'])}"]
            if found["heading"]
            else _entry(failures[found["id"]], say)
        )
    return "\n\n".join(parts) + "\n"


def _entry(failure: Failure, say: Translate) -> Iterator[str]:
    yield f"### {failure.id}"
    yield f"```text\n{failure.examples[0]}\n```"
    yield f"*{say(SEVERITIES[failure.severity])}* · {escaped(say(failure.cause))}"
    yield say(msg("Repair: {repair}", repair=escaped(say(failure.fix))))
    if failure.variables:
        variables = joined(", ", (f"`{name}={value}`" for name, value in failure.variables.items()))
        yield say(msg("Variables: {variables}.", variables=variables))
    yield say(
        msg(
            "Source: {sources}.",
            sources=joined(", ", (_source(say(each)) for each in failure.sources)),
        )
    )


def _source(source: str) -> str:
    issue = re.fullmatch(r"https://github\.com/([\w.-]+/[\w.-]+)/(?:issues|pull)/(\d+)", source)
    if issue:
        return f"[{issue[1]} {issue[2]}]({source})"
    return f"<{source}>" if source.startswith("https://") else escaped(source)
