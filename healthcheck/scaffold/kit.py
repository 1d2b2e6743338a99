"""Where the workflows of a repository find the kit: at a git address with a commit, or in a wheel beside them."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import json
import re
import zipfile
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from healthcheck import __version__
from healthcheck.errors import KitFailure
from healthcheck.scaffold import KIT_FOLDER, template
from healthcheck.scaffold.git import attempt
from healthcheck.text.messages import msg

_WHEEL = f"npu_adapter_kit-{__version__}-py3-none-any.whl"
VENDORED = f"./{KIT_FOLDER}/{_WHEEL}"
"""The answer to the question `kit` for a wheel in the repository: its path for pip."""
_SCP = re.compile(r"(?:[\w.-]+@)?(?P<host>[\w.-]+\.[\w.-]+):(?P<path>[^/\\].*)")
_DATE = (1980, 1, 1, 0, 0, 0)


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
    pushed = attempt(checkout, "for-each-ref", "--contains", "HEAD", "--count=1", "refs/remotes/origin")
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


def vendor(repository: Path) -> None:
    """Replace the wheel in the repository by one of the running kit; the same kit gives the same bytes.

    Raises:
        KitFailure: the kit runs from files that were never installed.
    """
    folder = repository / KIT_FOLDER
    folder.mkdir(exist_ok=True)
    for earlier in folder.glob("npu_adapter_kit-*.whl"):
        earlier.unlink()
    (folder / _WHEEL).write_bytes(_wheel())


def _wheel() -> bytes:
    files = dict(_files())
    about = f"npu_adapter_kit-{__version__}.dist-info"
    rows = io.StringIO()
    writer = csv.writer(rows, lineterminator="\n")
    for name, (_, content) in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        writer.writerow((name, f"sha256={digest}", len(content)))
    writer.writerow((f"{about}/RECORD", "", ""))
    files[f"{about}/RECORD"] = (0o644, rows.getvalue().encode())
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as wheel:
        for name, (mode, content) in files.items():
            entry = zipfile.ZipInfo(name, _DATE)
            entry.external_attr = (0o100000 | mode) << 16
            wheel.writestr(entry, content, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def _files() -> Iterator[tuple[str, tuple[int, bytes]]]:
    """The files of the wheel with their modes: the package, the template in it, and pip's metadata."""
    for path in sorted(template.PACKAGE.rglob("*")):
        parts = path.relative_to(template.PACKAGE.parent).parts
        if path.is_file() and "__pycache__" not in parts and parts[1] != "template":
            yield "/".join(parts), _file(path)
    source = template.template_folder()
    for name in template.paths(source):
        yield f"{template.PACKAGE.name}/template/{name}", _file(source / name)
    yield from _about()


def _file(path: Path) -> tuple[int, bytes]:
    return 0o755 if path.stat().st_mode & 0o100 else 0o644, path.read_bytes()


def _about() -> Iterator[tuple[str, tuple[int, bytes]]]:
    try:
        installed = metadata.distribution(template.NAME)
    except metadata.PackageNotFoundError as error:
        raise KitFailure(
            msg("a wheel of the kit is made from an installed one: pip install it, or its checkout")
        ) from error
    about = f"npu_adapter_kit-{__version__}.dist-info"
    described = installed.read_text("METADATA") or ""
    described = re.sub(r"(?m)^Version: .*$", f"Version: {__version__}", described, count=1)
    wheel = "Wheel-Version: 1.0\nGenerator: npu-adapter\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    yield f"{about}/METADATA", (0o644, described.encode())
    yield f"{about}/WHEEL", (0o644, wheel.encode())
    yield f"{about}/entry_points.txt", (0o644, (installed.read_text("entry_points.txt") or "").encode())
