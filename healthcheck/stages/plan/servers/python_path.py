"""Locates the Python modules on the command line of a recorded server."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence

from healthcheck.sandbox.job import Record
from healthcheck.stages.repo import pip_words

_WORD = r"[A-Za-z_]\w*"
NAMED = re.compile(rf"{_WORD}(?:\.{_WORD})*(?:\.|:){_WORD}")
"""package.module.Class or package.module:Class."""
_IN_TEXT = re.compile(rf"(?<![\w./-])({NAMED.pattern})(?![\w./-])")
_MOST = 400
BESIDE = "beside"
"""In the working directory, which the program `vllm` searches only if it is in PYTHONPATH."""


def found(
    argv: Sequence[str], env: Mapping[str, str], cwd: str, texts: Iterable[str], earlier: Sequence[Record]
) -> dict[str, str]:
    """The dotted names ("package.module.Class", "package.module:Class") whose module exists, with its folder.

    `texts` are configuration files; `earlier` are the earlier records, for folders that pip installs.
    """
    words = [match for text in (*argv, *texts) for match in _IN_TEXT.findall(text)][:_MOST]
    path = env.get("PYTHONPATH", "")
    folders = [os.path.join(cwd, entry) for entry in path.split(":")] if path else []
    folders += [cwd] if argv[0].startswith("python") else []
    folders += _installed(earlier)
    places = [*((folder, folder) for folder in folders), (cwd, BESIDE)]
    here = {word: next((name for folder, name in places if _has(folder, word)), "") for word in words}
    return {word: name for word, name in here.items() if name}


def _has(folder: str, word: str) -> bool:
    module = word.partition(":")[0] if ":" in word else word.rpartition(".")[0]
    place = os.path.join(folder, *module.split("."))
    return os.path.isfile(f"{place}.py") or os.path.isdir(place)


def _installed(earlier: Sequence[Record]) -> list[str]:
    """The folders of projects that pip commands install."""
    asked = [(each.cwd, pip_words.to_install(each.argv[0], each.argv[1:]) or ()) for each in earlier]
    words = [(cwd, word) for cwd, words in asked for word in words]
    places = [os.path.join(cwd, word.partition("[")[0]) for cwd, word in words if not word.startswith("-")]
    return [inside for place in places if os.path.isdir(place) for inside in (place, f"{place}/src")]
