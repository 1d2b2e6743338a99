"""The last lines that deploy.sh printed, and the one of them that names the error."""

from __future__ import annotations

import re

from healthcheck.plan.records import ShellRun
from healthcheck.redact import without_secrets

TAIL_LINES = 3
_TELLING_LINES = 12
_ERROR = re.compile(r"\b(?:error|fatal)\b|\u9519\u8bef", re.IGNORECASE)
_TELLS = re.compile(
    r"\b(?:fail(?:ed|ure|s)?|missing|required?|must|not (?:found|set|exist|available|installed)"
    r"|cannot|can't|unable|invalid|unknown|unsupported|no such|denied|refused)\b"
    r"|\u5931\u8d25|\u672a\u627e\u5230|\u4e0d\u5b58\u5728|\u7f3a\u5c11",
    re.IGNORECASE,
)
"""Words for what went wrong, in English and in Chinese (error, failed, not found, does not exist, lacks)."""


def last_lines(run: ShellRun) -> list[str]:
    """The last lines that deploy.sh printed: of standard error, or of standard output if that is empty."""
    return _lines_said(run)[-TAIL_LINES:]


def error_line(run: ShellRun) -> str:
    """The line that names the error: the first that does among the last ones, else the last line."""
    lines = _lines_said(run)[-_TELLING_LINES:]
    told = (line for tells in (_ERROR, _TELLS) for line in lines if tells.search(line))
    return next(told, lines[-1] if lines else "")


def _lines_said(run: ShellRun) -> list[str]:
    text = without_secrets(run.stderr.strip() or run.stdout.strip())  # before a secret of several lines is cut
    return [line.strip()[:200] for line in text.splitlines() if line.strip()]
