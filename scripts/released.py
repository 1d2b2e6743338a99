# ruff: noqa: INP001 - scripts are no package
"""Downloads releases from the package index by pip and unpacks them; none of their code runs."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from email.message import Message
from email.parser import HeaderParser
from pathlib import Path

PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input")
GUARD = """\
import os
if os.environ.get("NPU_ADAPTER_PIP_RUNS"):
    os._exit(1)
os.environ["NPU_ADAPTER_PIP_RUNS"] = "1"
"""
"""A sitecustomize.py. pip unpacks an sdist and starts a Python to run its setup.py: that Python exits at once."""
_UNREACHABLE = re.compile(
    r"Retrying \(|NewConnectionError|ConnectTimeout|Name or service not known|Max retries"
)
_KNOWN = re.compile(r"\(from versions: (.*?)\)")


class ReleaseError(Exception):
    """The release is not available; the text says why."""


class NoSuchRelease(ReleaseError):  # noqa: N818 - says what is missing
    """The index has no such release of the package."""


def newest(name: str) -> str:
    """The newest release of a package, candidates included.

    Raises:
        ReleaseError: there is none, or the index does not answer.
    """
    return versions(name)[0]


def versions(name: str) -> list[str]:
    """All releases of a package, candidates included, newest first.

    Raises:
        ReleaseError: there is none, or the index does not answer.
    """
    done = _pip("index", "versions", "--pre", name)
    found = re.search(r"^Available versions: (.+)$", done.stdout, re.MULTILINE)
    if found is None:
        raise _error(name, "", done.stderr)
    return found[1].split(", ")


@contextmanager
def unpacked(name: str, version: str) -> Iterator[Path]:
    """Unpack a release into a temporary folder: its sdist, else a wheel.

    Raises:
        ReleaseError: there is no such release, or the index does not answer.
    """
    with tempfile.TemporaryDirectory(prefix="npu-adapter-release-") as folder:
        yield _sdist_or_wheel(name, version, Path(folder))


@contextmanager
def unpacked_wheel(name: str, specifier: str) -> Iterator[Path]:
    """Unpack the newest wheel in a range of versions into a temporary folder.

    Raises:
        ReleaseError: there is no such wheel, or the index does not answer.
    """
    with tempfile.TemporaryDirectory(prefix="npu-adapter-release-") as folder:
        yield _wheel(name, specifier, Path(folder))


def metadata(tree: Path) -> Message:
    """The metadata of an unpacked release.

    Raises:
        ReleaseError: it has none.
    """
    for place in ("PKG-INFO", "*.dist-info/METADATA"):
        for path in tree.glob(place):
            return HeaderParser().parsestr(path.read_text("utf-8"))
    raise ReleaseError(f"{tree.name} has no metadata")


def _sdist_or_wheel(name: str, version: str, folder: Path) -> Path:
    try:
        return _sdist(name, version, folder)
    except NoSuchRelease as no_sdist:
        try:
            return _wheel(name, f"=={version}", folder)
        except NoSuchRelease as no_wheel:
            raise max(
                no_sdist, no_wheel, key=lambda error: "the newest are" in str(error)
            ) from None


def _sdist(name: str, version: str, folder: Path) -> Path:
    guard, place = folder / "guard", folder / "pip"
    for each in (guard, place):
        each.mkdir()
    (guard / "sitecustomize.py").write_text(GUARD, encoding="utf-8")
    words = ("download", "--no-deps", "--no-binary", ":all:", "--no-build-isolation", "--no-clean")
    done = _pip(
        *words,
        "--dest",
        str(folder),
        f"{name}=={version}",
        env={"TMPDIR": str(place), "PYTHONPATH": str(guard)},
    )
    trees = [path.parent for path in place.glob("*/*/PKG-INFO")]
    if not trees:
        raise _error(name, version, done.stderr)
    return trees[0]


def _wheel(name: str, specifier: str, folder: Path) -> Path:
    tree, place = folder / "wheel", folder / "wheels"
    words = ("download", "--no-deps", "--only-binary", ":all:", "--dest", str(place))
    done = _pip(*words, f"{name}{specifier}")
    wheels = list(place.glob("*.whl"))
    if not wheels:
        raise _error(name, specifier.removeprefix("=="), done.stderr)
    with zipfile.ZipFile(wheels[0]) as archive:
        archive.extractall(tree)
    return tree


def _pip(*words: str, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PIP_NO_CACHE_DIR": "1", "LC_ALL": "C.UTF-8", **(env or {})}
    return subprocess.run(
        [*PIP, *words], env=environment, capture_output=True, text=True, check=False
    )


def _error(name: str, version: str, said: str) -> ReleaseError:
    """The error for a failed download, from pip's output."""
    what = f"{name} {version}".strip()
    known = _KNOWN.search(said)
    if known and known[1] not in {"", "none"}:
        newest_first = known[1].split(", ")[::-1]
        return NoSuchRelease(
            f"the package index has no {what}; the newest are {', '.join(newest_first[:5])}"
        )
    if _UNREACHABLE.search(said):
        return ReleaseError(f"no network: the package index did not answer for {what}")
    last = next(
        (line for line in reversed(said.splitlines()) if "ERROR" in line), "pip said nothing"
    )
    return NoSuchRelease(f"the package index has no {what}: {last}")
