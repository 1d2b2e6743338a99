"""Reading what others wrote, with bounds, and writing so that no half-written file is ever seen."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from healthcheck.errors import UsageError


def read_bounded(path: Path, limit: int) -> bytes:
    """The bytes of a regular file of at most `limit` bytes.

    Raises:
        UsageError: it is no regular file, cannot be read, or is longer.
    """
    try:
        if not path.is_file():
            raise UsageError(f"{path} is not a file")
        with path.open("rb") as file:
            data = file.read(limit + 1)
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error
    if len(data) > limit:
        raise UsageError(f"{path} is longer than the {limit} bytes that are read of such a file")
    return data


def write_atomically(path: Path, data: bytes) -> None:
    """Write beside the target, flush to the disk, then rename over it; a device such as /dev/null is written to.

    Raises:
        OSError: it cannot be written; its `filename` is the target.
    """
    try:
        _write_atomically(path, data)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error


def _write_atomically(path: Path, data: bytes) -> None:
    if path.exists() and not path.is_file():
        path.write_bytes(data)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:40]}.")  # no longer than a name may be
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise
