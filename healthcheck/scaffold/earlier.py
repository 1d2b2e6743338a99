"""The template as it was when a repository was made: kept by the kit, in a vendored wheel, or at a git address."""

from __future__ import annotations

import subprocess
import zipfile
from pathlib import Path

from healthcheck.scaffold import KIT_FOLDER, template
from healthcheck.scaffold.answers import Answers
from healthcheck.scaffold.git import attempt

MAX_TEMPLATE_BYTES = 8 * 1024**2
_IN_WHEEL = "healthcheck/template/"
_CHECKED_OUT = ("copier.yml", "deploy.sh", "templates", "adapter", "adapter.toml", "requirements.txt")
_WITHOUT_WAITING = ("-c", "http.lowSpeedLimit=1000", "-c", "http.lowSpeedTime=20")


def unpack(repository: Path, made: Answers, scratch: Path) -> Path | None:
    """A folder with the kit's own template as the answers name it; None if it is nowhere to be had.

    `scratch` is an empty folder that outlives the result.
    """
    wanted = made.version.rpartition("-")[2]
    for number, source in enumerate((_kept, _vendored, _fetched)):
        folder = scratch / str(number)
        folder.mkdir(parents=True)
        source(repository, made, folder)
        if template.version_of(folder).endswith(f"-{wanted}"):
            return folder
    return None


def _kept(repository: Path, made: Answers, folder: Path) -> None:
    del repository
    for archive in template.KEPT.glob("*.zip"):
        if archive.stem == made.version:
            _extract(archive, "", folder)


def _vendored(repository: Path, made: Answers, folder: Path) -> None:
    del made
    for wheel in (repository / KIT_FOLDER).glob("npu_adapter_kit-*.whl"):
        _extract(wheel, _IN_WHEEL, folder)


def _extract(archive: Path, below: str, folder: Path) -> None:
    try:
        with zipfile.ZipFile(archive) as packed:
            entries = [entry for entry in packed.infolist() if entry.filename.startswith(below)]
            if sum(entry.file_size for entry in entries) > MAX_TEMPLATE_BYTES:
                return
            for entry in entries:
                entry.filename = entry.filename.removeprefix(below)
                Path(packed.extract(entry, folder)).chmod(entry.external_attr >> 16 & 0o777 or 0o644)
    except (OSError, zipfile.BadZipFile):
        return


def _fetched(repository: Path, made: Answers, folder: Path) -> None:
    """From the git address of the kit that the workflows install; one that does not answer is passed over."""
    del repository
    address, _, commit = str(made.given.get("kit", "")).removeprefix("git+").rpartition("@")
    if not address or commit.startswith("-"):
        return
    clone = folder.with_name("clone")
    clone.mkdir()
    quiet = {"GIT_TERMINAL_PROMPT": "0"}
    commands = (
        ("init", "--quiet"),
        (*_WITHOUT_WAITING, "fetch", "--quiet", "--depth=1", "--no-tags", "--", address, commit),
        ("checkout", "--quiet", "FETCH_HEAD", "--", *_CHECKED_OUT),
    )
    for command in commands:
        if attempt(clone, *command, variables=quiet).returncode:
            return
    try:
        template.export(folder, clone)
    except (OSError, subprocess.SubprocessError):
        return
