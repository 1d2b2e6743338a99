"""Finds the template of an earlier version: kept by the kit, or in a vendored wheel."""

from __future__ import annotations

import zipfile
import zlib
from pathlib import Path

from healthcheck.errors import UsageError
from healthcheck.scaffold import KIT_FOLDER, template
from healthcheck.scaffold.answers import Answers
from healthcheck.system.files import Sparing

MAX_TEMPLATE_BYTES = 8 * 1024**2
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
"""Of other methods, zipfile unpacks gigabytes before it counts them."""
_IN_WHEEL = "healthcheck/template/"


def unpack(repository: Path, made: Answers, scratch: Path) -> Path | None:
    """A folder with the kit's own template in the version of the answers; None if it cannot be found.

    `scratch` is a folder that does not exist yet and outlives the result.
    """
    wanted = made.version.rpartition("-")[2]
    kept = [(archive, "") for archive in template.KEPT.glob("*.zip") if archive.stem == made.version]
    wheels = [(wheel, _IN_WHEEL) for wheel in (repository / KIT_FOLDER).glob("npu_adapter_kit-*.whl")]
    for number, (archive, below) in enumerate((*kept, *wheels)):
        folder = scratch / str(number)
        _extract(archive, below, folder)
        if template.version_of(folder).endswith(f"-{wanted}"):
            return folder
    return None


def _extract(archive: Path, below: str, folder: Path) -> None:
    try:
        with Sparing(archive, MAX_TEMPLATE_BYTES) as file, zipfile.ZipFile(file) as packed:
            entries = [entry for entry in packed.infolist() if entry.filename.startswith(below)]
            unpacked = sum(entry.file_size for entry in entries)
            if unpacked > MAX_TEMPLATE_BYTES or any(entry.compress_type not in _METHODS for entry in entries):
                return
            for entry in entries:
                entry.filename = entry.filename.removeprefix(below)
                Path(packed.extract(entry, folder)).chmod(entry.external_attr >> 16 & 0o777 or 0o644)
    except (OSError, UsageError, zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError):
        return
