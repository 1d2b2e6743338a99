# ruff: noqa: INP001 - scripts are no package
"""Where the functions, constants, records and calls of the package stand, to follow a text back to its source."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import healthcheck

ROOT = Path(healthcheck.__file__).parent
Place = tuple[Path, ast.expr]


class Index:
    """Where the functions, constants, records and calls of the package are."""

    def __init__(self, modules: dict[Path, ast.Module]) -> None:
        self._parents: dict[ast.AST, ast.AST] = {}
        self._functions: dict[str, list[tuple[Path, ast.FunctionDef]]] = defaultdict(list)
        self._constants: dict[str, list[Place]] = defaultdict(list)
        self._classes: list[tuple[Path, ast.ClassDef]] = []
        self._imports: dict[tuple[Path, str], tuple[Path, str]] = {}
        self.calls: dict[str, list[tuple[Path, ast.Call]]] = defaultdict(list)
        for path, module in modules.items():
            self._add(path, module, modules)

    def _add(self, path: Path, module: ast.Module, modules: dict[Path, ast.Module]) -> None:
        for node in ast.walk(module):
            self._parents.update((child, node) for child in ast.iter_child_nodes(node))
            if isinstance(node, ast.FunctionDef):
                self._functions[node.name].append((path, node))
            elif isinstance(node, ast.ClassDef):
                self._classes.append((path, node))
            elif isinstance(node, ast.Call):
                self.calls[called_name(node.func)].append((path, node))
            elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith(ROOT.name):
                self._imports.update(_imported(path, node, modules))
        for name, value in _assigned(module):
            self._constants[name].append((path, value))

    def function_of(self, node: ast.AST) -> ast.FunctionDef | None:
        """The function around an expression."""
        while node in self._parents:
            node = self._parents[node]
            if isinstance(node, ast.FunctionDef):
                return node
        return None

    def constants(self, path: Path, name: str) -> list[Place]:
        """The values of a constant of the module, its own or imported."""
        place, inside = self._imports.get((path, name), (path, name))
        return [each for each in self._constants[inside or name] if each[0] == place]

    def constants_of(self, path: Path, node: ast.Attribute) -> list[Place]:
        """The values of a constant that is named by its module."""
        place = self._module(path, node.value)
        return [each for each in self._constants[node.attr] if each[0] == place]

    def functions(self, path: Path, called: ast.expr) -> list[tuple[Path, ast.FunctionDef]]:
        """The functions that a call may mean."""
        known = self._functions[called_name(called)]
        if isinstance(called, ast.Name):
            place, inside = self._imports.get((path, called.id), (path, called.id))
            return [each for each in self._functions[inside or called.id] if each[0] == place]
        place_of = self._module(path, called.value) if isinstance(called, ast.Attribute) else None
        return [each for each in known if each[0] == place_of] if place_of else known if len(known) == 1 else []

    def _module(self, path: Path, node: ast.expr) -> Path | None:
        place, inside = (
            self._imports.get((path, node.id), (None, "?")) if isinstance(node, ast.Name) else (None, "?")
        )
        return None if inside else place

    def field_values(self, name: str) -> Iterator[Place]:
        """What a field of any record is given, or its property returns."""
        for path, record in self._classes:
            yield from ((path, value) for value in _returned(record, name))
            for place, field in enumerate(_fields(record)):
                if ast.unparse(field.target) == name and "str" in ast.unparse(field.annotation):
                    if field.value is not None:
                        yield path, field.value
                    yield from self._given(record.name, name, place)

    def _given(self, record: str, name: str, place: int) -> Iterator[Place]:
        """What the calls of a record's class pass for the field of this name, at this place."""
        for caller, call in self.calls[record]:
            yield from ((caller, word.value) for word in call.keywords if word.arg == name)
            yield from ((caller, value) for value in call.args[place : place + 1])


def _imported(
    path: Path, node: ast.ImportFrom, modules: dict[Path, ast.Module]
) -> Iterator[tuple[tuple[Path, str], tuple[Path, str]]]:
    """The names that an import brings into a file, each with its file and its name there ("" for a module)."""
    inside = _file(str(node.module), modules)
    for alias in node.names:
        own = _file(f"{node.module}.{alias.name}", modules)
        if own:
            yield (path, alias.asname or alias.name), (own, "")
        elif inside:
            yield (path, alias.asname or alias.name), (inside, alias.name)


def _assigned(module: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    """The names that a module assigns at its top level, with their values."""
    for node in module.body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        value = getattr(node, "value", None)
        if value is not None:
            yield from ((target.id, value) for target in targets if isinstance(target, ast.Name))


def _returned(record: ast.ClassDef, name: str) -> Iterator[ast.expr]:
    """What the method of this name returns."""
    for node in record.body:
        if isinstance(node, ast.FunctionDef) and node.name == name:
            yield from (each.value for each in ast.walk(node) if isinstance(each, ast.Return) and each.value)


def _fields(record: ast.ClassDef) -> list[ast.AnnAssign]:
    return [node for node in record.body if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)]


def _file(module: str, modules: dict[Path, ast.Module]) -> Path | None:
    place = ROOT.parent / module.replace(".", "/")
    return next((each for each in (place.with_suffix(".py"), place / "__init__.py") if each in modules), None)


def called_name(called: ast.expr) -> str:
    """The last part of the name of what is called, "" where it has none."""
    return called.id if isinstance(called, ast.Name) else called.attr if isinstance(called, ast.Attribute) else ""
