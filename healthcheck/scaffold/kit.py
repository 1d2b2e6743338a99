"""Where the workflows of a repository find the kit: at a git address with a commit."""

from __future__ import annotations

import json
import re
from importlib import metadata
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from healthcheck.scaffold import template
from healthcheck.scaffold.git import attempt

_SCP = re.compile(r"(?:[\w.-]+@)?(?P<host>[\w.-]+\.[\w.-]+):(?P<path>[^/\\].*)")


def address() -> str:
    """`git+URL@COMMIT` of this kit, for pip, from its own origin; "" if others cannot fetch it."""
    checkout = template.PACKAGE.parent
    if (checkout / ".git").exists():
        return _of_checkout(checkout)
    try:
        text = metadata.distribution(template.NAME).read_text("direct_url.json")
        origin = json.loads(text or "{}")
    except (metadata.PackageNotFoundError, ValueError):
        return ""
    commit = origin.get("vcs_info", {}).get("commit_id", "")
    return _pinned(str(origin.get("url", "")), str(commit))


def _of_checkout(checkout: Path) -> str:
    """The address of a checkout; "" for a commit that was never pushed."""
    origin = attempt(checkout, "config", "--get", "remote.origin.url").stdout.strip()
    commit = attempt(checkout, "rev-parse", "HEAD").stdout.strip()
    pushed = attempt(
        checkout, "for-each-ref", "--contains", "HEAD", "--count=1", "refs/remotes/origin"
    )
    return _pinned(origin, commit) if pushed.stdout.strip() else ""


def _pinned(url: str, commit: str) -> str:
    address = _public(url)
    return f"git+{address}@{commit}" if address and commit else ""


def _public(url: str) -> str:
    """The address by HTTP, without credentials: a workflow has no SSH key. "" for a folder of this machine."""
    scp = _SCP.fullmatch(url)
    if scp and "://" not in url:
        return f"https://{scp['host']}/{scp['path']}"
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https", "ssh"} or not parts.hostname:
        return ""
    if parts.scheme == "ssh":
        return urlunsplit(("https", parts.hostname, parts.path, "", ""))
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))
