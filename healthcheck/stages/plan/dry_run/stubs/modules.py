"""Stubs for libraries that an adapter imports and that are not installed in the dry run."""

from __future__ import annotations

import contextlib
import importlib
import importlib.abc
import importlib.machinery
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from healthcheck.stages.plan.dry_run.stubs import (
    apps,
    clients,
    commandline,
    devices,
    earlier_steps,
    engines,
    image,
    imports,
    patches,
    pip,
)
from healthcheck.stages.plan.dry_run.stubs.permissive import Module

KNOWN = frozenset(Path(__file__).with_name("libraries.txt").read_text(encoding="ascii").split())
"""Libraries that adapters import from the service's image or from packages in requirements.txt."""
_RUN = "run_as_main"
_PROGRAM = ".__main__"
"""The suffix of the module that `python -m` runs in a package."""


class Library(Module):
    """A library whose modules are also its attributes: `from aiohttp import web`."""

    def __getattr__(self, name: str) -> Any:
        below = f"{self.__name__}.{name}"
        return importlib.import_module(below) if apps.parts(below) else super().__getattr__(name)


class Catalogued(Library):
    """A module of vLLM or vllm-ascend: it has the names that some catalogued release has."""

    def __getattribute__(self, name: str) -> Any:
        if name.startswith("_"):
            return super().__getattribute__(name)
        module, given = super().__getattribute__("__name__"), super().__getattribute__("_given")
        if name not in given and name != _RUN and not imports.is_there(module, name):
            raise AttributeError(name)  # Python asks __getattr__ next
        return super().__getattribute__(name)

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("_"):
            if not imports.has(self.__name__, name):
                raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
            below = f"{self.__name__}.{name}"
            if imports.has(below):
                return importlib.import_module(below)
        return super().__getattr__(name)

    def __setattr__(self, name: str, value: Any) -> None:
        self.__dict__.setdefault("_given", set()).add(name)
        super().__setattr__(name, value)


class Loader(importlib.abc.Loader):
    """Creates a stub module: known attributes have a stub, others are placeholders."""

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        module = (Catalogued if _is_catalogued(spec.name) else Library)(spec.name)
        module.__path__ = [os.path.dirname(spec.origin or "")]
        return module

    def exec_module(self, module: ModuleType) -> None:
        for source in (engines, devices, apps, clients, commandline):
            module.__dict__.update(source.parts(module.__name__))
        module.__dict__[_RUN] = engines.run_module
        module.__dict__.setdefault("__version__", image.module_version(module.__name__))
        module.__file__ = module.__spec__.origin if module.__spec__ else None

    def get_code(self, name: str) -> CodeType:
        """The code that runpy executes for `python -m name`."""
        top, module = name.split(".", maxsplit=1)[0], name.removesuffix(_PROGRAM)
        return compile(f"import {top} as m\nm.run_as_main({module!r})", f"<{name}>", "exec")

    def is_package(self, name: str) -> bool:
        return False


class Finder(importlib.abc.MetaPathFinder):
    """Last finder: the submission's modules and the standard library are real."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        top = name.split(".", maxsplit=1)[0]
        parent = sys.modules.get(top)
        if parent and not isinstance(parent, Module) and name != top:
            return None
        if name == top:
            shipped = importlib.machinery.PathFinder.find_spec(
                name, earlier_steps.project_folders()
            )
            if shipped is not None:
                return shipped
        known = top in KNOWN or top.lower() in earlier_steps.importable_names()
        return _stub(name) if known and _exists(name) else None


class Below(importlib.abc.MetaPathFinder):
    """First finder: the submodules of a stub are stubs, regardless of the files in its folder."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        top, _, below = name.partition(".")
        stubbed = below and isinstance(sys.modules.get(top), Module) and _exists(name)
        return _stub(name) if stubbed else None


def _exists(name: str) -> bool:
    """Whether a release has the module, or may have it."""
    return not _is_catalogued(name) or imports.is_there(name)


def _is_catalogued(name: str) -> bool:
    """Whether a module is vLLM's or vllm-ascend's own; a file that the script put there is not."""
    if name.partition(".")[0] not in imports.PACKAGES or name.endswith(_PROGRAM):
        return False
    place = f"{pip.SITE}/{name.replace('.', '/')}"
    return "." not in name or not any(map(os.path.isfile, (f"{place}.py", f"{place}/__init__.py")))


def _stub(name: str) -> importlib.machinery.ModuleSpec:
    folder = f"{pip.SITE}/{name.replace('.', '/')}"
    if "." not in name:
        _make_package(folder)
    is_package = not name.endswith(_PROGRAM)
    spec = importlib.machinery.ModuleSpec(
        name, Loader(), origin=f"{folder}/__init__.py", is_package=is_package
    )
    spec.submodule_search_locations = [folder] if is_package else None
    return spec


def _make_package(folder: str) -> None:
    """Create the folder of a package, for programs that look at the files of a library."""
    with contextlib.suppress(OSError):
        os.makedirs(folder, exist_ok=True)
        Path(f"{folder}/__init__.py").touch()


def install(kit: str) -> None:
    """Start to replace missing libraries by stubs."""
    if os.path.isdir(f"{kit}/site"):
        sys.path.append(f"{kit}/site")
    sys.meta_path[:0] = [Below(), patches.AfterImport()]
    sys.meta_path.append(Finder())
    ours = [name for name in sys.modules if name.split(".")[0] == "healthcheck"]
    _HIDDEN.extend(map(sys.modules.pop, ours))


_HIDDEN: list[ModuleType] = []
"""Our own modules, hidden from a submission with modules of the same name, but kept alive."""
