# ruff: noqa: INP001 - a folder of programs, no package
"""Writes healthcheck/data/server-imports.json: what the start of vLLM's server imports from other packages.

    python scripts/make_server_imports.py 0.18.0 0.30.0

Nothing is imported: the names come from the syntax trees of vllm.entrypoints.openai.api_server and of the modules
of vLLM that it imports. Only statements of the top level count, outside of `if`, `try` and functions, since they
always run. `certain` has the imports of all releases, `possible` the other packages and standard modules of any
release.
"""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import released

ENTRY = "vllm.entrypoints.openai.api_server"
DATA = Path(__file__).resolve().parents[1] / "healthcheck" / "data" / "server-imports.json"
_PLAIN = (sys.executable, "-I", "-S", "-c")
_LOADED = "import sys; print(*{name.partition('.')[0] for name in sys.modules}, *sys.builtin_module_names, 'runpy')"
_EDITABLE = "import importlib.util, importlib.machinery, itertools, pathlib; import site; "
"""The imports of the finder of an editable installation, which runs before a program does."""
_EVERYTHING = """
import contextlib, importlib
for name in {names}:
    with contextlib.suppress(Exception):
        importlib.import_module(name)
"""


def imports(tree: Path) -> set[tuple[str, str]]:
    """The imports from other packages when the server starts, each as module and name ("" for the module alone)."""
    waiting, seen, found = [ENTRY], set[str](), set[tuple[str, str]]()
    while waiting:
        module = waiting.pop()
        path = _file(tree, module)
        if module in seen or path is None:
            continue
        seen.add(module)
        package = module if path.name == "__init__.py" else module.rpartition(".")[0]
        for source, name in _statements(path, package):
            if source.partition(".")[0] == "vllm":
                waiting += [*_with_parents(source), f"{source}.{name}"]
            else:
                found.add((source, name))
    return found


def _file(tree: Path, module: str) -> Path | None:
    place = tree / module.replace(".", "/")
    files = (place / "__init__.py", place.with_suffix(".py"))
    return next((file for file in files if file.is_file()), None)


def _with_parents(module: str) -> list[str]:
    parts = module.split(".")
    return [".".join(parts[:count]) for count in range(1, len(parts) + 1)]


def _statements(path: Path, package: str) -> Iterator[tuple[str, str]]:
    for node in ast.parse(path.read_text("utf-8")).body:
        if isinstance(node, ast.Import):
            yield from ((each.name, "") for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            parts = package.split(".")
            above = parts[: len(parts) - node.level + 1] if node.level else []
            source = ".".join([*above, *filter(None, [node.module])])
            yield from ((source, each.name) for each in node.names)


def needs(found: set[tuple[str, str]]) -> dict[str, list[str]]:
    """For each top-level module the submodules (".types") and names ("APIRouter") that are imported from it."""
    needed: dict[str, set[str]] = {}
    for module, name in found:
        top, _, below = module.partition(".")
        parts = needed.setdefault(top, set())
        if below:
            parts.add(f".{below.partition('.')[0]}")
        elif name:
            parts.add(name)
    return {top: sorted(parts) for top, parts in sorted(needed.items())}


def _top_levels(program: str) -> set[str]:
    """The top-level modules that a Python without site-packages has loaded after a program."""
    done = subprocess.run(
        [*_PLAIN, program + "\n" + _LOADED], capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())


def main() -> None:
    versions, every = sys.argv[1:], []
    for version in versions:
        with released.unpacked("vllm", version) as tree:
            every.append(imports(tree))
            print(version, len(every[-1]), file=sys.stderr)
    tops = {module.partition(".")[0] for found in every for module, _ in found}
    standard = tops & sys.stdlib_module_names
    first = _top_levels("import site")
    early = _top_levels(_EDITABLE) - first
    around = _top_levels(_EVERYTHING.format(names=sorted(standard))) & sys.stdlib_module_names
    certain = needs(set.intersection(*every))
    public = {name for name in tops | around if not name.startswith("_")}
    table = {
        "source": "the syntax trees of vLLM's server; written by scripts/make_server_imports.py",
        "releases": versions,
        "certain": {top: parts for top, parts in certain.items() if top in public - first - early},
        "possible": sorted(public - certain.keys() - first - early | (early & public)),
        "loaded_first": sorted(first & sys.stdlib_module_names),
    }
    DATA.write_text(json.dumps(table, indent=1) + "\n", "ascii")


if __name__ == "__main__":
    main()
