"""Data sets as they are published, in a folder: the files with the problems to test on, as AISBench stores them.

gsm8k/test.jsonl, math500/test.jsonl, aime/aime.jsonl: one file. mmlu/test/*.csv, ceval/formal_ceval/val/*.csv: the
files of a split, of which C-Eval's `test` has no answers. AISBench's folders: its documentation of each data set.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from healthcheck.errors import UsageError, reason_of
from healthcheck.stages.probe.data_sets.rows import rows_of
from healthcheck.system.files import read_text
from healthcheck.text.messages import msg

MAX_BYTES = 2**28
_SPLITS = ("test", "val")
_ENDINGS = (".jsonl", ".json", ".csv")
_MOST_FILES, _MOST_NAMED = 1000, 8


def files_of(path: Path) -> tuple[Path, ...]:
    """The file itself, or those of a folder that have the problems.

    Raises:
        UsageError: the folder has none, or several among which the user has to choose.
    """
    if not path.is_dir():
        return (path,)
    folders = [each for each in _inside(path) if each.is_dir()]
    for place in (path, *(folders if len(folders) == 1 else ())):
        here = _readable(place)
        chosen = [each for each in here if each.stem in _SPLITS] or here
        if len(chosen) > 1:
            named = ", ".join(each.name for each in chosen[:_MOST_NAMED]) + (
                " …" if chosen[_MOST_NAMED:] else ""
            )
            raise UsageError(
                msg(
                    "{path} has several files of problems: name one of {named}",
                    path=place,
                    named=named,
                )
            )
        for files in (chosen, *(_split(place / name) for name in _SPLITS)):
            if files and (files is chosen or _has_answers(files[0])):
                return tuple(files)
    raise UsageError(
        msg(
            "{path} has no JSON, JSON lines or CSV file, nor a folder “test” or “val” of them with answers",
            path=path,
        )
    )


def _split(folder: Path) -> list[Path]:
    """The files of a split; MMLU has a JSON file of remarks beside its tables."""
    files = _readable(folder) if folder.is_dir() and not folder.is_symlink() else []
    return [each for each in files if each.suffix == ".csv"] or files


def _inside(folder: Path) -> list[Path]:
    """What is in the folder but hidden files; links that leave it are not followed.

    Raises:
        UsageError: the folder cannot be read, or has too many files.
    """
    root = os.path.realpath(folder)
    try:
        names = sorted(each for each in folder.iterdir() if not each.name.startswith("."))
    except OSError as error:
        raise UsageError(
            msg("cannot read {path}: {reason}", path=folder, reason=reason_of(error))
        ) from error
    if len(names) > _MOST_FILES:
        raise UsageError(msg("{path} has more than {most} files", path=folder, most=_MOST_FILES))
    return [each for each in names if os.path.realpath(each).startswith(f"{root}{os.sep}")]


def _readable(folder: Path) -> list[Path]:
    return [each for each in _inside(folder) if each.suffix.lower() in _ENDINGS and each.is_file()]


def _has_answers(path: Path) -> bool:
    row: Mapping[str, object] = next(iter(rows_of(path, read_text(path, MAX_BYTES))), (0, {}))[1]
    return any(name.lower() == "answer" for name in row)
