"""The folder for a report may hold the report of an earlier run, which `verify` overwrites."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from healthcheck.errors import UsageError
from healthcheck.report.folder import JSON, PAGE, SUMMARY
from healthcheck.stages.probe.options.reading import FILE
from healthcheck.stages.probe.run import layout
from healthcheck.system import json_text
from healthcheck.system.files import read_bounded
from healthcheck.system.json_text import JsonError
from healthcheck.text.messages import msg
from healthcheck.text.redact import redactor
from healthcheck.verify.run import DEPLOY_LOG, Request

MAX_REPORT_BYTES = 32 * 2**20
MOST_VALUES = 2_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Earlier:
    """The beginning of a report.json.

    Attributes:
        asked: what was verified or measured, in words.
    """

    schema: int
    asked: str
    provenance: Mapping[str, Any] = field(default_factory=dict)


def refuse_others(request: Request) -> Earlier | None:
    """The report of an earlier run of the same request in its folder; None if the folder has no report.

    Raises:
        UsageError: the folder holds a report on something else, or samples that no report belongs to.
    """
    folder = request.out
    report = folder / JSON
    if not report.is_file():
        if (folder / layout.SETTINGS).exists():
            raise UsageError(
                msg(
                    "{folder} holds the samples of a probe and no report: continue them with "
                    "`npu-adapter probe URL --resume {folder}`, or name another --out",
                    folder=folder,
                )
            )
        return None
    try:
        found = json_text.load_few(read_bounded(report, MAX_REPORT_BYTES), Earlier, MOST_VALUES)
    except (JsonError, UsageError) as error:
        raise UsageError(
            msg("{file} is not a report of this kit: name another --out", file=report)
        ) from error
    key, subject = (
        ("url", request.url)
        if request.url
        else ("repository", str(request.root.expanduser().resolve()))
    )
    if found.provenance.get(key) == redactor(os.environ)(subject):
        return found
    other = found.provenance.get("repository") or found.provenance.get("url") or found.asked
    raise UsageError(
        msg("{folder} holds the report on {other}: name another --out", folder=folder, other=other)
    )


def remove(folder: Path, earlier: Earlier) -> None:
    """Remove the files of an earlier run, none of which is then taken for one of the new run. Others stay.

    Raises:
        UsageError: one of them cannot be removed.
    """
    for name in _files_of(earlier):
        path = folder / name
        if path.parent.is_symlink() and path.parent != folder:
            continue
        try:
            path.unlink(missing_ok=True)
        except (IsADirectoryError, NotADirectoryError):
            continue
        except OSError as error:
            raise UsageError(
                msg("cannot remove {path}: {error}", path=path, error=error)
            ) from error


def _files_of(earlier: Earlier) -> Iterator[str]:
    yield from (JSON, PAGE, SUMMARY)
    if "launch" in earlier.provenance:
        yield DEPLOY_LOG
    if "probe" in earlier.provenance:
        yield from (*layout.FILES, FILE)
