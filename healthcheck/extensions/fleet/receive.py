"""Receives an attempt from another machine: bounds its files, and decides what to trust."""

from __future__ import annotations

import math
import os
import re
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from healthcheck.errors import UsageError
from healthcheck.extensions.fleet.launch import LOG, REPORT, with_report
from healthcheck.extensions.fleet.readback import short
from healthcheck.extensions.fleet.records import Attempt, Ending
from healthcheck.report import folder as report_folder
from healthcheck.system import files

MAX_FILES = 500
MAX_FILE_BYTES = 32 * 2**20
MAX_BYTES = 96 * 2**20
_KEPT = (report_folder.JSON, report_folder.PAGE, report_folder.SUMMARY)
FIRST = (*(f"{REPORT}/{name}" for name in _KEPT), LOG)
"""Files that are always sent."""
_PART = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+=-]{0,120}")
_DEVICE = re.compile(r"\d{1,4}")
_STARTED = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """The message of a machine: the attempt, and its files by path relative to the attempt's folder."""

    attempt: Attempt
    files: Mapping[str, bytes]


def sent(attempt: Attempt, place: Path) -> Sent:
    """The attempt with the files of its folder: the report first, then as many as fit. Links are left out."""
    found: dict[str, bytes] = {}
    size = 0
    for name in (*FIRST, *sorted(_regular(place))):
        data = b"" if name in found or len(found) >= MAX_FILES else _content(place / name)
        if data and size + len(data) <= MAX_BYTES:
            found[name] = data
            size += len(data)
    return Sent(attempt=replace(attempt, report=None), files=found)


def received(message: Sent, asked: Attempt, place: Path) -> Attempt:
    """Write the files to the folder `place`, emptied first; returns the attempt as this process sees it.

    Job, number, commit and node are the requested ones; the facts of the report are read from the file.
    """
    files.remove_tree(str(place))
    place.mkdir(parents=True)
    size = 0
    for name, data in list(message.files.items())[:MAX_FILES]:
        size += len(data)
        if (
            size <= MAX_BYTES
            and len(data) <= MAX_FILE_BYTES
            and all(map(_PART.fullmatch, name.split("/")))
        ):
            path = place / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
    told = message.attempt
    seconds = told.seconds if math.isfinite(told.seconds) and 0 <= told.seconds < 10**8 else 0.0
    attempt = replace(
        asked,
        ending=told.ending if told.ending in {Ending.DONE, Ending.TIME_LIMIT} else Ending.LOST,
        devices=tuple(device for device in told.devices[:1024] if _DEVICE.fullmatch(device)),
        started=told.started if _STARTED.fullmatch(told.started) else "",
        seconds=seconds,
        status=told.status,
        said=short(told.said),
    )
    return with_report(attempt, place)


def _regular(place: Path) -> Iterator[str]:
    for folder, _, names in os.walk(place):
        for name in names:
            yield os.path.relpath(os.path.join(folder, name), place)


def _content(path: Path) -> bytes:
    """The bytes of a regular file within the limit, else b""."""
    try:
        about = path.lstat()
        fits = stat.S_ISREG(about.st_mode) and about.st_size <= MAX_FILE_BYTES
        return files.read_bounded(path, MAX_FILE_BYTES) if fits else b""
    except (OSError, UsageError):
        return b""
