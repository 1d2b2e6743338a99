"""The files of a downloaded report: a zip or a folder, read with bounds, never extracted.

Nothing in it is trusted: entries with absolute or climbing names, links and encrypted entries are skipped and
named; sizes are those of the real decompression, not the header's.
"""

from __future__ import annotations

import codecs
import os
import stat
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from healthcheck.errors import UsageError, reason_of
from healthcheck.system.files import Sparing
from healthcheck.text.messages import joined, msg

FOLDERS = ("configs", "logs", "predictions", "results", "summary")
EXPECTED = msg(
    "expected is the zip file that the service offers, or the folder it was unpacked to, with {folders}/ in it",
    folders=FOLDERS[2],
)
MAX_FILES = 5_000
MAX_ENTRIES = 100_000
MAX_TOTAL_BYTES = 64 * 2**20
"""GSM8K with five samples per problem is 34 MB."""
MAX_LINES = 120_000
"""MMLU with five samples per problem has 70,000 predictions."""
MAX_DIRECTORY_BYTES = 4 * 2**20
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
"""For other methods, zipfile unpacks the whole content of a few bytes, possibly gigabytes, before returning any."""
_DAMAGED = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    NotImplementedError,
    RuntimeError,
    OverflowError,
    OSError,
)
_READ = frozenset({".json", ".jsonl", ".csv", ".py"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportFiles:
    """One report of an archive.

    Attributes:
        root: the folder inside the archive with `predictions` and the others, "" for the top level.
        files: contents by path below the root, such as "results/MODEL/DATASET.json".
        passed_over: files that were not read, and why.
    """

    root: str
    files: Mapping[str, bytes]
    passed_over: tuple[str, ...] = ()


def open_reports(path: Path) -> tuple[ReportFiles, ...]:
    """The reports in a zip file or a folder.

    Raises:
        UsageError: the path is neither, is damaged as a whole, is too large, or has none of a report's folders.
    """
    if path.is_dir():
        entries = _of_folder(path)
    elif path.is_file():
        entries = _of_zip(path)
    else:
        found = (
            msg("it is neither a folder nor a file")
            if path.exists()
            else msg("there is nothing of that name")
        )
        raise UsageError(
            msg("{path}: {found}; {expected}", path=path, found=found, expected=EXPECTED)
        )
    by_root: dict[str, dict[str, bytes]] = {}
    passed_over, total, lines = list[str](), 0, 0
    for name, data, why_not in entries:
        place = _place(name)
        if why_not or place is None:
            if why_not:
                passed_over.append(msg("{name}: {why_not}", name=repr(name), why_not=why_not))
            continue
        root, below = place
        total += len(data)
        lines += data.count(b"\n")
        files = by_root.setdefault(root, {})
        files[below] = data.removeprefix(codecs.BOM_UTF8)  # editors add it
        if total > MAX_TOTAL_BYTES or len(files) > MAX_FILES:
            raise UsageError(
                msg(
                    "{path} holds more than {max_total_bytes} bytes or {max_files} files: no such report",
                    path=path,
                    max_total_bytes=MAX_TOTAL_BYTES,
                    max_files=MAX_FILES,
                )
            )
        if lines > MAX_LINES:
            raise UsageError(
                msg(
                    "{path} holds more than {max_lines} lines: no such report",
                    path=path,
                    max_lines=MAX_LINES,
                )
            )
    if not by_root:
        seen = (
            msg("; passed over: {passed_over}", passed_over=joined("; ", passed_over[:3]))
            if passed_over
            else ""
        )
        raise UsageError(
            msg(
                "{path} has none of a report's folders ({folders}){seen}; {expected}",
                path=path,
                folders=", ".join(FOLDERS),
                seen=seen,
                expected=EXPECTED,
            )
        )
    passed = tuple(passed_over)
    return tuple(
        ReportFiles(root=r, files=files, passed_over=passed) for r, files in sorted(by_root.items())
    )


def _place(name: str) -> tuple[str, str] | None:
    """The report's root and the path below it, None for a file that belongs to no report."""
    parts = PurePosixPath(name).parts
    at = next((i for i, part in enumerate(parts[:-1]) if part in FOLDERS), None)
    if at is None or PurePosixPath(name).suffix not in _READ:
        return None
    return "/".join(parts[:at]), "/".join(parts[at:])


def _of_folder(folder: Path) -> Iterator[tuple[str, bytes, str]]:
    """Name, content and reason for skipping of each file; a file that exceeds the limit is cut just above it."""
    count, left = 0, MAX_TOTAL_BYTES
    for where, folders, names in os.walk(folder, followlinks=False):
        folders.sort()
        for name in sorted(names):
            path = Path(where, name)
            relative = path.relative_to(folder).as_posix()
            count += 1
            if count > MAX_ENTRIES:
                raise UsageError(
                    msg(
                        "{folder} has more than {max_entries} files: name the report's own folder",
                        folder=folder,
                        max_entries=MAX_ENTRIES,
                    )
                )
            if _place(relative) is None:
                continue
            data, why_not = _regular_file(path, left)
            left -= len(data)
            yield relative, data, why_not


def _regular_file(path: Path, limit: int) -> tuple[bytes, str]:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        return b"", msg("a link") if path.is_symlink() else str(error.strerror)
    with os.fdopen(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            return b"", msg("no regular file")
        return file.read(limit + 1), ""


def _of_zip(path: Path) -> Iterator[tuple[str, bytes, str]]:
    left = MAX_TOTAL_BYTES
    if not path.stat().st_size:
        raise UsageError(msg("{path} is an empty file: download it again", path=path))
    if not _begins_like_a_zip(path):
        raise UsageError(msg("{path} is not a zip file; {expected}", path=path, expected=EXPECTED))
    try:
        with Sparing(path, MAX_DIRECTORY_BYTES) as file, zipfile.ZipFile(file) as archive:
            entries = archive.infolist()
            if len(entries) > MAX_ENTRIES:
                raise UsageError(
                    msg(
                        "{path} has more than {max_entries} entries: no such report",
                        path=path,
                        max_entries=MAX_ENTRIES,
                    )
                )
            for entry in entries:
                why_not = _unsafe(entry)
                data = b""
                if not why_not and _place(entry.filename) is not None:
                    data, why_not = _member(archive, entry, left)
                    left -= len(data)
                yield entry.filename, data, why_not
    except (zipfile.BadZipFile, NotImplementedError, OSError, OverflowError, ValueError) as error:
        raise UsageError(
            msg(
                "{path} is not a complete zip file ({error}): download it again",
                path=path,
                error=error,
            )
        ) from error


def _begins_like_a_zip(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return b"PK".startswith(file.read(2))
    except OSError as error:
        raise UsageError(
            msg("cannot read {path}: {reason}", path=path, reason=reason_of(error))
        ) from error


def _unsafe(entry: zipfile.ZipInfo) -> str:
    name = entry.filename
    if name.startswith(("/", "\\")) or "\\" in name or ":" in name.partition("/")[0]:
        return msg("an absolute or foreign path")
    if ".." in PurePosixPath(name).parts:
        return msg("a path that climbs out")
    if stat.S_ISLNK(entry.external_attr >> 16):
        return msg("a link")
    if entry.flag_bits & 1:
        return msg("encrypted")
    return (
        ""
        if entry.compress_type in _METHODS
        else msg("not packed with deflate: unpack it, and name the folder")
    )


def _member(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, limit: int) -> tuple[bytes, str]:
    """The real content of an entry, up to just above the limit; nothing for a damaged one."""
    try:
        with archive.open(entry) as file:
            return file.read(limit + 1), ""
    except _DAMAGED as error:
        return b"", f"damaged ({error})"
