"""Data sets as they are published, in a folder: the files with the problems to test on, as AISBench stores them.

gsm8k/test.jsonl, math500/test.jsonl, aime/aime.jsonl: one file. mmlu/test/*.csv, ceval/formal_ceval/val/*.csv: the
files of a split, of which C-Eval's `test` has no answers. AISBench's folders: its documentation of each data set.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from healthcheck.errors import UsageError
from healthcheck.stages.probe.data_sets.rows import rows_of
from healthcheck.system.files import read_text

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
            named = ", ".join(each.name for each in chosen[:_MOST_NAMED]) + (" …" if chosen[_MOST_NAMED:] else "")
            raise UsageError("{path} has several files of problems: name one of {named}", place, named)
        for files in (chosen, *(_split(place / name) for name in _SPLITS)):
            if files and (files is chosen or _has_answers(files[0])):
                return tuple(files)
    raise UsageError(
        "{path} has no JSON, JSON lines or CSV file, nor a folder “test” or “val” of them with answers", path
    )


def _split(folder: Path) -> list[Path]:
    """The files of a split; MMLU has a JSON file of remarks beside its tables."""
    files = _readable(folder) if folder.is_dir() and not folder.is_symlink() else []
    return [each for each in files if each.suffix == ".csv"] or files


def _inside(folder: Path) -> list[Path]:
    """What is in the folder; links that leave it are not followed."""
    root = folder.resolve()
    return sorted(each for each in folder.iterdir() if each.resolve().is_relative_to(root))[:_MOST_FILES]


def _readable(folder: Path) -> list[Path]:
    return [each for each in _inside(folder) if each.suffix in _ENDINGS and each.is_file()]


def _has_answers(path: Path) -> bool:
    row: Mapping[str, object] = next(iter(rows_of(path, read_text(path, MAX_BYTES))), (0, {}))[1]
    return any(name.lower() == "answer" for name in row)
