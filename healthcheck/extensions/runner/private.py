"""Removes private data from a recording: secrets, names of hosts and users, addresses, serial numbers."""

from __future__ import annotations

import getpass
import ipaddress
import os
import re
import socket
from collections.abc import Callable

from healthcheck.text.redact import without_secrets
from healthcheck.text.secret_shapes import REMOVED

KEPT_ACCOUNTS = frozenset({"root", "HwHiAiUser", "docker", "nobody", "nogroup", "daemon", ""})
"""Accounts of users and groups that exist on many machines; the checks need them."""
_SHAPES = (
    (re.compile(r"\b[\w.+-]+@[\w-]+\.[\w.-]+\b"), REMOVED),
    (
        re.compile(r"(?mi)^(\s*(?:[\w ]*Serial Number|SN|[VN]?Die ID|UUID)\s*:\s*).+$"),
        rf"\1{REMOVED}",
    ),
    (re.compile(r"(?m)^(\s*User(?:Name|Group)\s*=\s*)(?!HwHiAiUser\b).+$"), rf"\1{REMOVED}"),
    (
        re.compile(
            r"(://)(?:removed@)?(?!localhost\b|127\.|\[::1\]|0\.0\.0\.0|removed)[^/\s:,;'\"]+"
        ),
        rf"\1{REMOVED}",
    ),
    (re.compile(r"/(home|Users)/[^/\s:'\"]+"), rf"/\1/{REMOVED}"),
    (re.compile(r"(?<![\w:])(?:[0-9A-Fa-f]{2}:){5}[0-9A-Fa-f]{2}(?![\w:])"), REMOVED),
)
"""Mail addresses, numbers of cards, accounts of the driver, hosts of URLs, home folders, MAC addresses."""
_IPV4 = re.compile(r"(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?!\w|\.\d)")
_IPV6 = re.compile(r"(?<![\w:.])(?:[0-9A-Fa-f]{0,4}:){2,7}[0-9A-Fa-f]{0,4}(?![\w:])")
_VERSION = re.compile(r"(?i)(?:version|npu-smi|release|firmware)[^\n]{0,30}$")
"""What precedes four numbers that are a version, such as "npu-smi 22.0.3.1"."""
# In /proc/*/cgroup: the ids of containers and pods, which are meaningless outside their host.
_CONTAINER_ID = re.compile(r"[0-9a-f]{8,}(?:[-_][0-9a-f]{4,})*")
_ACCOUNT = re.compile(r"(?<=\()[^()]*(?=\))")
"""The names in the output of `id`: "uid=1000(alice)"."""


def redactor() -> Callable[[str], str]:
    """A function that removes the private data of this machine from a text."""
    host = socket.gethostname()
    names = {host, host.split(".")[0]}
    names |= {os.environ.get(name, "") for name in ("HOSTNAME", "LOGNAME", "USER", "SUDO_USER")}
    names |= {_user()}
    names -= KEPT_ACCOUNTS | {"localhost"}
    known = sorted((name for name in names if len(name) > 2), key=len, reverse=True)
    words = "|".join(rf"(?<![\w-]){re.escape(name)}(?![\w-])" for name in known)
    own_names = re.compile(words or r"(?!)")

    def redact(text: str) -> str:
        text = without_secrets(text)
        for private, instead in _SHAPES:
            text = private.sub(instead, text)
        text = _IPV6.sub(_address, _IPV4.sub(_address, text))
        return own_names.sub(REMOVED, text)

    return redact


def account(name: str) -> str:
    """The name of an owner or group, removed unless many machines have it."""
    return name if name in KEPT_ACCOUNTS else REMOVED


def accounts(text: str) -> str:
    """The output of `id` without the names of users and groups."""
    return _ACCOUNT.sub(lambda found: account(found[0]), text)


def container_ids(text: str) -> str:
    """A file of control groups without the ids of containers."""
    return _CONTAINER_ID.sub(REMOVED, text)


def _address(found: re.Match[str]) -> str:
    """Loopback addresses and versions stay."""
    try:
        address = ipaddress.ip_address(found[0])
    except ValueError:
        return found[0]
    if address.is_loopback or address.is_unspecified or found[0].startswith(("0.", "255.")):
        return found[0]
    if not address.is_private and _VERSION.search(found.string, 0, found.start()):
        return found[0]
    return REMOVED


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return ""
