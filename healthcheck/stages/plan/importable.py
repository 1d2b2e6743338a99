"""Reads data/importable.json: which modules and names of vLLM and vllm-ascend each release has.

scripts/make_name_catalogue.py writes the file. Stubs import this module from a copy, without the rest of the kit.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

FILE = "importable.json"
ANY, OPEN_END, REST = "*", "..", "/"
"""The name that stands for any name, the sign in a span, and the sign between defined and imported names."""
RELEASES, FOREIGN, MODULES = "releases", "foreign", "modules"


def spanned(span: str, releases: Sequence[str]) -> set[str]:
    """The releases of a span: "0.18.0..0.23.0 0.27.1.." has a range, and a second one that is still open."""
    found: set[str] = set()
    for part in span.split():
        first, is_range, last = part.partition(OPEN_END)
        at = releases.index(first)
        found.update(
            releases[at : releases.index(last) + 1 if last else None] if is_range else [first]
        )
    return found


@dataclass(frozen=True, slots=True)
class Importable:
    """The modules and names of one package in the catalogued releases.

    Attributes:
        releases: the catalogued releases, oldest first.
        foreign: names that modules of the package import from other packages, in some release.
        modules: for each module, names by span of releases.
    """

    package: str
    releases: tuple[str, ...]
    foreign: frozenset[str]
    modules: Mapping[str, Mapping[str, str]]

    def having(self, module: str, name: str = "") -> frozenset[str]:
        """The releases that have a module, or a name in it that can be imported from there.

        Private names and names of other packages count as being in every release with the module.
        """
        found = self._with_module(module)
        if not name or name.startswith("_") or name in self.foreign:
            return found
        bound = self._with_name(module, name) | self._with_name(module, ANY)
        return found & (bound | self._with_module(f"{module}.{name}"))

    def names(self, module: str, release: str) -> set[str]:
        """The names that a module has in a release."""
        return {name for _, name in self._listed(module, release)}

    def homes(self, name: str, release: str) -> list[str]:
        """The modules of a release that define a name."""
        candidates = (
            module
            for module, spans in self.modules.items()
            if any(name in text for text in spans.values())
        )
        return [
            module for module in candidates if (True, name) in set(self._listed(module, release))
        ]

    def _listed(self, module: str, release: str) -> Iterator[tuple[bool, str]]:
        """The names of a module in a release, each after whether the module defines it."""
        for span, text in self.modules.get(module, {}).items():
            if release in spanned(span, self.releases):
                defined, _, imported = text.partition(REST)
                yield from ((True, name) for name in defined.split())
                yield from ((False, name) for name in imported.split())

    def _with_name(self, module: str, name: str) -> frozenset[str]:
        spans = self.modules.get(module, {})
        return self._spanned(span for span, text in spans.items() if name in text.split())

    def _with_module(self, module: str) -> frozenset[str]:
        if module in self.modules:
            return self._spanned(self.modules[module])
        parent = module.rpartition(".")[0]
        while parent and parent not in self.modules:
            parent = parent.rpartition(".")[0]
        return self._with_name(parent, ANY)

    def _spanned(self, spans: Any) -> frozenset[str]:
        return frozenset(release for span in spans for release in spanned(span, self.releases))


def read(text: str) -> dict[str, Importable]:
    """The catalogue by package."""
    return {
        package: Importable(
            package, tuple(known[RELEASES]), frozenset(known[FOREIGN].split()), known[MODULES]
        )
        for package, known in json.loads(text).items()
        if isinstance(known, dict)
    }
