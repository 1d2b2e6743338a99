"""Removes private data from a recording: secrets, host and user names, serial numbers."""

from __future__ import annotations

import getpass
import os
import re
import socket
from collections.abc import Callable

from healthcheck.text.redact import without_secrets
from healthcheck.text.secret_shapes import REMOVED

_IDENTITY = (
    (re.compile(r"\b[\w.+-]+@[\w-]+\.[\w.-]+\b"), REMOVED),
    (re.compile(r"(?m)^(\s*(?:Serial Number|V?N?Die ID|UUID)\s*:\s*).+$"), rf"\1{REMOVED}"),
    (
        re.compile(r"(://)(?:removed@)?(?!localhost\b|127\.|\[::1\]|0\.0\.0\.0|removed)[^/\s:,;'\"]+"),
        rf"\1{REMOVED}",
    ),
    (re.compile(r"/(home|Users)/[^/\s:]+"), rf"/\1/{REMOVED}"),
)
_KEPT_USERS = {"root", "HwHiAiUser", "nobody", "daemon"}


def redactor() -> Callable[[str], str]:
    """A function that redacts texts of this machine."""
    host = socket.gethostname()
    names = {host, host.split(".")[0], os.environ.get("HOSTNAME", "")}
    names |= {_user()} - _KEPT_USERS
    known = sorted((name for name in names if len(name) > 2 and name != "localhost"), key=len, reverse=True)
    pattern = re.compile("|".join(rf"(?<![\w-]){re.escape(name)}(?![\w-])" for name in known) or r"(?!)")

    def redact(text: str) -> str:
        text = without_secrets(text)
        for private, instead in _IDENTITY:
            text = private.sub(instead, text)
        return pattern.sub(REMOVED, text)

    return redact


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return ""
