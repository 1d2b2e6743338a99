"""Takes out of a recording what is nobody's business: secrets, host and user names, serial numbers."""

from __future__ import annotations

import getpass
import os
import re
import socket
from collections.abc import Callable

REMOVED = "removed"
_WORD = r"(?:api[-_]?key|access[-_]?key|token(?!i)|secret|passw|credential)"
_VALUE = r"[^\s\"',;{}\[\]]+"
_SECRETS = (
    (re.compile(r"://[^/\s@]+@"), f"://{REMOVED}@"),
    (re.compile(rf"(?i)(--?[\w-]*{_WORD}[\w-]*)(\s+|=){_VALUE}"), rf"\1\2{REMOVED}"),
    (re.compile(rf"(?i)\b(\w*{_WORD}\w*[\"']?)(\s*[=:]\s*[\"']?){_VALUE}"), rf"\1\2{REMOVED}"),
    (re.compile(r"(?i)\bbearer\s+[\w.=~+/-]+"), f"Bearer {REMOVED}"),
    (re.compile(r"\b(?:hf_|gh[pousr]_|github_pat_|glpat-|sk-|ms-|AKIA)[\w-]{12,}"), REMOVED),
    (re.compile(r"\beyJ[\w-]{6,}\.[\w-]+\.[\w-]*"), REMOVED),
    (re.compile(r"\b[\w.+-]+@[\w-]+\.[\w.-]+\b"), REMOVED),
    (re.compile(r"(?m)^(\s*(?:Serial Number|V?N?Die ID|UUID)\s*:\s*).+$"), rf"\1{REMOVED}"),
    (re.compile(r"(://)(?!localhost\b|127\.|\[::1\]|0\.0\.0\.0|removed)[^/\s:,;'\"]+"), rf"\1{REMOVED}"),
    (re.compile(r"/(home|Users)/[^/\s:]+"), rf"/\1/{REMOVED}"),
)
_KEPT_USERS = {"root", "HwHiAiUser", "nobody", "daemon"}


def redactor() -> Callable[[str], str]:
    """A function that redacts a text of this machine."""
    host = socket.gethostname()
    names = {host, host.split(".")[0], os.environ.get("HOSTNAME", "")}
    names |= {_user()} - _KEPT_USERS
    known = sorted((name for name in names if len(name) > 2 and name != "localhost"), key=len, reverse=True)
    pattern = re.compile("|".join(rf"(?<![\w-]){re.escape(name)}(?![\w-])" for name in known) or r"(?!)")

    def redact(text: str) -> str:
        for secret, instead in _SECRETS:
            text = secret.sub(instead, text)
        return pattern.sub(REMOVED, text)

    return redact


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return ""
