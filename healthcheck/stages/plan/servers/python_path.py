"""Locates the Python modules on the command line of a recorded server."""

from __future__ import annotations

import ast
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
LEFT_OUT = "left out by "
"""Before the file and line of a setup.py that pip runs, and that does not install the module."""
_SETUP_BYTES = 256 * 1024
_FINDERS = {"find_packages", "find_namespace_packages"}
_PLACES = {"package_dir", "py_modules"}


def found(
    argv: Sequence[str],
    env: Mapping[str, str],
    cwd: str,
    texts: Iterable[str],
    earlier: Sequence[Record],
) -> dict[str, str]:
    """The dotted names ("package.module.Class", "package.module:Class") whose module exists, with its folder.

    `texts` are configuration files; `earlier` are the earlier records, for folders that pip installs.
    """
    words = [match for text in (*argv, *texts) for match in _IN_TEXT.findall(text)][:_MOST]
    path = env.get("PYTHONPATH", "")
    folders = [os.path.join(cwd, entry) for entry in path.split(":")] if path else []
    folders += [cwd] if argv[0].startswith("python") else []
    projects = _projects(earlier)
    left_out = {place: line for place in projects if (line := _line_that_leaves_out_src(place))}
    for place in projects:
        folders += [place] if place in left_out else [place, f"{place}/src"]
    places = [*((folder, folder) for folder in folders), (cwd, BESIDE)]
    places += [
        (f"{place}/src", f"{LEFT_OUT}{place}/setup.py:{line}") for place, line in left_out.items()
    ]
    here = {
        word: next((name for folder, name in places if _has(folder, word)), "") for word in words
    }
    return {word: name for word, name in here.items() if name}


def _has(folder: str, word: str) -> bool:
    module = word.partition(":")[0] if ":" in word else word.rpartition(".")[0]
    place = os.path.join(folder, *module.split("."))
    return os.path.isfile(f"{place}.py") or os.path.isdir(place)


def _projects(earlier: Sequence[Record]) -> list[str]:
    """The folders of projects that pip commands install."""
    asked = [
        (each.cwd, pip_words.to_install(each.argv[0], each.argv[1:]) or ()) for each in earlier
    ]
    words = [(cwd, word) for cwd, words in asked for word in words]
    places = [
        os.path.normpath(os.path.join(cwd, word.partition("[")[0]))
        for cwd, word in words
        if not word.startswith("-")
    ]
    return [place for place in dict.fromkeys(places) if os.path.isdir(place)]


def _line_that_leaves_out_src(project: str) -> int:
    """The line of setup.py that only looks for packages next to it; 0 if there is none or another file decides."""
    if any(os.path.exists(f"{project}/{name}") for name in ("pyproject.toml", "setup.cfg")):
        return 0
    try:
        with open(f"{project}/setup.py", encoding="utf-8") as file:
            tree = ast.parse(file.read(_SETUP_BYTES))
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return 0
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    setups = [call for call in calls if _called(call) == "setup"]
    if len(setups) != 1:
        return 0
    given = {keyword.arg: keyword.value for keyword in setups[0].keywords}
    packages = given.get("packages")
    if None in given or _PLACES & given.keys() or not isinstance(packages, ast.Call):
        return 0
    is_here = _called(packages) in _FINDERS and not packages.args
    return packages.lineno if is_here and not packages.keywords else 0


def _called(call: ast.Call) -> str:
    return str(getattr(call.func, "attr", getattr(call.func, "id", "")))
