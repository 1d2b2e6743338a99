"""Records modules of the submission that a server of vLLM finds before packages of the same name."""

from __future__ import annotations

import ast
import json
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from healthcheck.stages.plan import calls
from healthcheck.stages.plan.dry_run.stubs import image, note

_KIT = sys.argv[1] if len(sys.argv) > 1 else ""
_FILE_BYTES, _MOST_FILES, _MOST_RECORDS = 256 * 1024, 5000, 12
_PROVIDES_MORE = re.compile(
    r"\bimport \*|__getattr__|__path__|\bsys\.modules\b|\bimportlib\b|\bexec\(|\bglobals\("
)
"""Code whose names and submodules a syntax tree does not have."""
_BINARIES = (".so", ".pyd")


def record_for_server() -> None:
    """Record the modules that vLLM's server finds first, in this process or in that of the program vllm."""
    table = _table()
    _record(table["certain"], table["possible"])


def record_for_library() -> None:
    """Record the modules that vLLM may find first, if this process has imported it."""
    if "vllm" in sys.modules:
        table = _table()
        _record({}, [*table["certain"], *table["possible"]])


def _table() -> dict[str, Any]:
    with open(f"{_KIT}/{calls.SERVER_IMPORTS}", encoding="ascii") as file:
        return dict(json.load(file))


def _record(certain: Mapping[str, Sequence[str]], possible: Iterable[str]) -> None:
    known: dict[str, Sequence[str]] = {**dict.fromkeys(possible, ()), **certain}
    reported = set[str]()
    for folder in _folders():
        for name, path in _modules(folder, known):
            if name not in reported and len(reported) < _MOST_RECORDS:
                reported.add(name)
                kind = calls.CERTAIN if name in certain else ""
                lacking = _lacking(path, known[name])
                note.record(
                    "python", calls.SHADOWS, name, _shipped(path), _origin(folder), kind, *lacking
                )


def _folders() -> list[str]:
    """The folders of the submission on the search path, in its order."""
    places = [os.path.realpath(entry) for entry in [*sys.path, *_by_variable()]]
    root = os.path.realpath(image.root())
    return list(dict.fromkeys(place for place in places if f"{place}/".startswith(f"{root}/")))


def _by_variable() -> list[str]:
    """The folders in PYTHONPATH, which the stub of the program vllm does not search itself."""
    return [entry for entry in os.environ.get("PYTHONPATH", "").split(":") if entry]


def _origin(folder: str) -> str:
    """Why Python searches a folder: calls.BY_VARIABLE, or calls.OF_THE_PROGRAM."""
    named = folder in map(os.path.realpath, _by_variable())
    return calls.BY_VARIABLE if named else calls.OF_THE_PROGRAM


def _modules(folder: str, known: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """The modules and regular packages of a folder with a known name. A package comes before a module."""
    try:
        entries = sorted(os.listdir(folder)[:_MOST_FILES])
    except OSError:
        return
    packages = {each for each in entries if os.path.isfile(f"{folder}/{each}/__init__.py")}
    yield from ((name, f"{folder}/{name}/__init__.py") for name in sorted(packages & known.keys()))
    for entry in entries:
        name, suffix = os.path.splitext(entry)
        if (
            suffix == ".py"
            and name in known
            and name not in packages
            and os.path.isfile(f"{folder}/{entry}")
        ):
            yield name, f"{folder}/{entry}"


def _lacking(path: str, needed: Sequence[str]) -> Iterator[str]:
    """The needed submodules (".types") and names that a module certainly does not have."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            text = file.read(_FILE_BYTES)
        tree = ast.parse(text)
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return
    if _PROVIDES_MORE.search(text) or len(text) >= _FILE_BYTES:
        return
    bound = set(_bound(tree))
    folder = os.path.dirname(path) if os.path.basename(path) == "__init__.py" else ""
    for part in needed:
        is_module = bool(folder) and _has_module(folder, part.lstrip("."))
        if not is_module and (part.startswith(".") or part not in bound):
            yield part


def _bound(tree: ast.Module) -> Iterator[str]:
    """All names that any statement of a module binds, those in functions included."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.alias):
            yield node.asname or node.name.partition(".")[0]
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id


def _has_module(folder: str, name: str) -> bool:
    try:
        entries = os.listdir(folder)[:_MOST_FILES]
    except OSError:
        return True
    return any(
        entry in {name, f"{name}.py"}
        or (entry.startswith(f"{name}.") and entry.endswith(_BINARIES))
        for entry in entries
    )


def _shipped(path: str) -> str:
    return os.path.relpath(path, os.path.realpath(image.root()))
