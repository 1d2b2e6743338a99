# ruff: noqa: INP001 - a folder of programs, no package
"""Reads the modules and names of vLLM and vllm-ascend for healthcheck/data/importable.json.

add_release.py writes the file. Nothing is imported: the syntax trees have the names. A module's names are

- those that its top level binds, in any branch except those for type checkers,
- those that its `__getattr__` finds in tables of the module,
- those of star imports.

A module whose names cannot be read in this way has the name `*`, which stands for any name. Names that begin with
`_` are omitted. Names that modules import from other packages are in one list for each package.

The file has the names of all releases together, because most of them stay. Each module has spans of releases with
the names that are in all releases of the span ("0.18.0.." has no end yet).
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from packaging.version import Version

from healthcheck.stages.plan.importable import (
    ANY,
    FOREIGN,
    MODULES,
    OPEN_END,
    RELEASES,
    REST,
    spanned,
)

_BUILT = {
    "vllm": (
        "_C",
        "_C_stable_libtorch",
        "_moe_C",
        "_version",
        "cumem_allocator",
        "grpc",
        "third_party",
        "vllm_flash_attn",
    ),
    "vllm_ascend": ("_build_info", "_cann_ops_custom", "_version", "vllm_ascend_C"),
}
"""Modules and packages that a build writes or fills. Source: setup.py and .gitignore of the releases."""


@dataclass(slots=True)
class Names:
    """The names of one module: those that it defines, imports from its own package, and imports from others."""

    defined: set[str] = field(default_factory=set)
    imported: set[str] = field(default_factory=set)
    foreign: set[str] = field(default_factory=set)
    stars: list[str] = field(default_factory=list)

    def everything(self) -> set[str]:
        return self.defined | self.imported


Package = dict[str, Names]
"""The modules of a release of a package, by dotted name."""


def package(tree: Path, name: str) -> Package:
    """The modules of an unpacked release, and what can be imported from each."""
    found = {}
    for path in sorted((tree / name).rglob("*.py")):
        module, is_package = _module(path.relative_to(tree))
        found[module] = _names(
            path.read_text("utf-8"), module if is_package else module.rpartition(".")[0]
        )
    for module in _BUILT[name]:
        found.setdefault(f"{name}.{module}", Names()).defined.add(ANY)
    for module in found:
        _follow_stars(module, found, ())
    return found


def _module(path: Path) -> tuple[str, bool]:
    """The dotted name of a file, and whether it is a package."""
    parts = path.with_suffix("").parts
    is_package = parts[-1] == "__init__"
    return ".".join(parts[:-1] if is_package else parts), is_package


def _follow_stars(module: str, found: Package, on_the_way: tuple[str, ...]) -> Names:
    """Replace the star imports of a module by names; by ANY if they lead out of the package."""
    names = found[module]
    while names.stars:
        source = names.stars.pop()
        if source not in found or source in on_the_way:
            names.imported.add(ANY)
            continue
        names.imported |= _follow_stars(source, found, (*on_the_way, module)).everything()
    return names


def _names(text: str, folder: str) -> Names:
    tree = ast.parse(text)
    reader = _Reader(folder, _tables(tree))
    reader.read(tree.body)
    reader.names.imported |= {
        name for node in ast.walk(tree) if isinstance(node, ast.Global) for name in node.names
    }
    if _changes_itself(text, tree):
        reader.names.defined.add(ANY)
    return reader.names


def _tables(tree: ast.Module) -> Mapping[str, set[str]]:
    """The strings that the top level collects under a name: keys of a dict, elements of a list, tuple or set."""
    found: dict[str, set[str]] = {}
    for node in ast.walk(tree):
        targets, value = _assignment(node)
        for target in targets:
            if isinstance(target, ast.Name) and value is not None:
                found.setdefault(target.id, set()).update(_strings(value))
    return found


def _assignment(node: ast.AST) -> tuple[list[ast.expr], ast.expr | None]:
    if isinstance(node, ast.Assign):
        return node.targets, node.value
    if isinstance(node, (ast.AnnAssign, ast.AugAssign)):
        return [node.target], node.value
    return [], None


def _strings(value: ast.expr) -> set[str]:
    parts: Sequence[ast.expr | None] = ()
    if isinstance(value, ast.Dict):
        parts = value.keys
    elif isinstance(value, (ast.List, ast.Tuple, ast.Set)):
        parts = value.elts
    return {
        part.value
        for part in parts
        if isinstance(part, ast.Constant) and isinstance(part.value, str)
    }


class _Reader:
    """Reads the statements of a module's top level in their order."""

    def __init__(self, folder: str, tables: Mapping[str, set[str]]) -> None:
        self.names = Names()
        self._folder, self._tables = folder, tables
        self._own = folder.partition(".")[0]

    def read(self, body: Iterable[ast.stmt]) -> None:
        for node in body:
            self._statement(node)

    def _statement(self, node: ast.stmt) -> None:
        defined = self.names.defined
        match node:
            case ast.FunctionDef(name="__getattr__"):
                defined |= self._of_getattr(node)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                defined.add(node.name)
            case ast.Import():
                for each in node.names:
                    top = each.name.partition(".")[0]
                    place = (
                        self.names.imported
                        if top == self._own and each.asname
                        else self.names.foreign
                    )
                    place.add(each.asname or top)
            case ast.ImportFrom():
                self._import_from(node)
            case ast.AnnAssign(value=None):
                pass
            case ast.Delete():
                for name in _bound(node):
                    self.names.defined.discard(name)
                    self.names.imported.discard(name)
            case _:
                defined |= _bound(node)
        for inner in _bodies(node):
            self.read(inner)
        if isinstance(node, ast.If) and _is_for_type_checkers(node.test):
            self._read_substitutes(node.orelse)

    def _read_substitutes(self, body: Iterable[ast.stmt]) -> None:
        """Read what stands for names that only type checkers import: it is not where the names come from."""
        reader = _Reader(self._folder, self._tables)
        reader.read(body)
        self.names.imported |= reader.names.everything()
        self.names.foreign |= reader.names.foreign
        self.names.stars += reader.names.stars

    def _import_from(self, node: ast.ImportFrom) -> None:
        source = node.module or ""
        if node.level:
            parts = self._folder.split(".")
            source = ".".join((*parts[: len(parts) - node.level + 1], *filter(None, [source])))
        is_own = source.partition(".")[0] == self._own
        for each in node.names:
            if each.name == "*":
                self.names.stars.append(source)
            else:
                (self.names.imported if is_own else self.names.foreign).add(
                    each.asname or each.name
                )

    def _of_getattr(self, function: ast.FunctionDef) -> set[str]:
        """The names that a module's __getattr__ knows; ANY if tables and constants do not have them."""
        constants, mentioned, raises = set(), set(), False
        for node in ast.walk(function):
            if (
                isinstance(node, ast.Constant)
                and isinstance(node.value, str)
                and node.value.isidentifier()
            ):
                constants.add(node.value)
            elif isinstance(node, ast.Name) and node.id in self._tables:
                mentioned |= self._tables[node.id]
            elif isinstance(node, ast.Attribute) and node.attr in {
                "startswith",
                "endswith",
                "match",
            }:
                return {ANY}
            raises = raises or (
                isinstance(node, ast.Raise) and "AttributeError" in ast.unparse(node)
            )
        looks_elsewhere = not (constants | mentioned) and "getattr(" in ast.unparse(
            ast.Module(function.body, [])
        )
        return constants | mentioned if raises and not looks_elsewhere else {ANY}


def _bodies(node: ast.stmt) -> Iterator[list[ast.stmt]]:
    """The blocks of a statement that the module's top level may run."""
    if isinstance(node, ast.If):
        if not _is_for_type_checkers(node.test):
            yield node.body
            if not (
                isinstance(node.test, ast.UnaryOp) and _is_for_type_checkers(node.test.operand)
            ):
                yield node.orelse
    elif isinstance(node, (ast.For, ast.While)):
        yield from (node.body, node.orelse)
    elif isinstance(node, ast.With):
        yield node.body
    elif isinstance(node, ast.Try):
        yield from (
            node.body,
            *(handler.body for handler in node.handlers),
            node.orelse,
            node.finalbody,
        )
    elif isinstance(node, ast.Match):
        yield from (case.body for case in node.cases)


def _is_for_type_checkers(test: ast.expr) -> bool:
    return getattr(test, "attr", getattr(test, "id", "")) == "TYPE_CHECKING"


def _bound(node: ast.AST) -> set[str]:
    """The names that a statement or its expressions bind or delete, without its blocks."""
    found: set[str] = set()
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.stmt, ast.ExceptHandler, ast.match_case, ast.Lambda)):
            continue
        if isinstance(child, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
            found |= {each.target.id for each in ast.walk(child) if isinstance(each, ast.NamedExpr)}
        elif isinstance(child, ast.Name):
            found |= {child.id} if isinstance(child.ctx, (ast.Store, ast.Del)) else set()
        else:
            found |= _bound(child)
    return found


_CHANGES_ITSELF = re.compile(
    r"globals\(\)\[[^\]]+\]\s*=[^=]|globals\(\)\.(?:update|setdefault)\("
    r"|sys\.modules\[__name__\]\s*=[^=]|setattr\(\s*sys\.modules\[__name__\]"
)
"""Adds names to the module that its statements do not show."""


def _changes_itself(text: str, tree: ast.Module) -> bool:
    """Whether the module adds names to itself, not counting its __getattr__ and __setattr__."""
    if not _CHANGES_ITSELF.search(text):
        return False
    functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))
    special = [each for each in functions if each.name in {"__getattr__", "__setattr__"}]
    kept = {line for each in special for line in range(each.lineno, _end(each) + 1)}
    lines = (text.count("\n", 0, found.start()) + 1 for found in _CHANGES_ITSELF.finditer(text))
    return any(line not in kept for line in lines)


def _end(node: ast.stmt) -> int:
    return node.end_lineno or node.lineno


def with_release(
    data: Mapping[str, object], name: str, version: str, found: Package
) -> dict[str, object]:
    """The content of the file with a release of a package added, or replaced."""
    known: Mapping[str, object] = data.get(name) or {RELEASES: [], FOREIGN: "", MODULES: {}}  # type: ignore[assignment]
    before: list[str] = list(known[RELEASES])  # type: ignore[call-overload]
    held = _unpacked(known[MODULES], before)  # type: ignore[arg-type]
    for versions in (versions for names in held.values() for versions in names.values()):
        versions.discard(version)
    for module, names in found.items():
        for each in ("", *names.defined):
            _hold(held, module, each, True, version)
        for each in names.imported - names.defined:
            _hold(held, module, each, False, version)
    foreign = {
        *str(known[FOREIGN]).split(),
        *_public(set().union(*(names.foreign for names in found.values()))),
    }
    releases = sorted({*before, version}, key=Version)
    content = {
        RELEASES: releases,
        FOREIGN: " ".join(sorted(foreign)),
        MODULES: _packed(held, releases),
    }
    return {**data, name: content}


_Held = dict[str, dict[tuple[str, bool], set[str]]]
"""Releases by module, name and whether the module defines it; the empty name stands for the module."""


def _hold(held: _Held, module: str, name: str, is_defined: bool, version: str) -> None:
    if not name.startswith("_") or (
        module == module.partition(".")[0] and name.startswith("__version")
    ):
        held.setdefault(module, {}).setdefault((name, is_defined), set()).add(version)


def _public(names: set[str]) -> set[str]:
    return {name for name in names if not name.startswith("_")}


def _unpacked(modules: Mapping[str, Mapping[str, str]], releases: Sequence[str]) -> _Held:
    held: _Held = {}
    for module, spans in modules.items():
        names = held.setdefault(module, {})
        for span, text in spans.items():
            versions = spanned(span, releases)
            defined, _, imported = text.partition(REST)
            for each in ("", *defined.split()):
                names.setdefault((each, True), set()).update(versions)
            for each in imported.split():
                names.setdefault((each, False), set()).update(versions)
    return held


def _packed(held: _Held, releases: Sequence[str]) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for module, names in sorted(held.items()):
        groups: dict[str, tuple[list[str], list[str]]] = {}
        for (each, is_defined), versions in sorted(names.items()):
            if versions and each:
                groups.setdefault(_span(versions, releases), ([], []))[
                    0 if is_defined else 1
                ].append(each)
        there = names.get(("", True), set())
        if there - {each for span in groups for each in spanned(span, releases)}:
            groups.setdefault(_span(there, releases), ([], []))
        if groups:
            found[module] = {span: _listed(*groups[span]) for span in sorted(groups)}
    return found


def _listed(defined: Sequence[str], imported: Sequence[str]) -> str:
    return " ".join([*defined, *([REST, *imported] if imported else [])])


def _span(versions: set[str], releases: Sequence[str]) -> str:
    """Releases as "0.18.0..0.23.0 0.27.1..", each part without a gap."""
    parts: list[str] = []
    at = 0
    while at < len(releases):
        end = at
        while end < len(releases) and releases[end] in versions:
            end += 1
        if end > at:
            last = "" if end == len(releases) else releases[end - 1]
            parts.append(last if last and end == at + 1 else f"{releases[at]}{OPEN_END}{last}")
        at = end + 1
    return " ".join(parts)


def text(data: Mapping[str, object]) -> str:
    """The file, with a line for each module."""
    packages = [(name, known) for name, known in data.items() if isinstance(known, dict)]
    parts = [
        ' "source": "the syntax trees of each release; written by scripts/make_name_catalogue.py"'
    ]
    for name, known in packages:
        modules = ",\n".join(
            f"  {json.dumps(each)}: {json.dumps(spans)}" for each, spans in known[MODULES].items()
        )
        head = f'"{RELEASES}": {json.dumps(known[RELEASES])}, "{FOREIGN}": {json.dumps(known[FOREIGN])}'
        parts.append(f' "{name}": {{{head}, "{MODULES}": {{\n{modules}\n }}}}')
    return "{\n" + ",\n".join(parts) + "\n}\n"
