"""Decides whether version specifiers can be satisfied together."""

from __future__ import annotations

import re
from collections.abc import Iterator

from packaging.specifiers import SpecifierSet
from packaging.version import InvalidVersion, Version


def satisfiable(specifiers: list[str]) -> bool:
    """Whether a version satisfies all specifiers; tries the versions that they name and their neighbours."""
    joined = [SpecifierSet(each) for each in specifiers if each]
    tried = {"0", "99999"}
    for each in (each for one in joined for each in one):
        tried |= set(_around(each.version))
    for text in tried:
        try:
            version = Version(text)
        except InvalidVersion:
            continue
        if all(one.contains(version, prereleases=True) for one in joined):
            return True
    return any("===" in each for each in specifiers)


def _around(version: str) -> Iterator[str]:
    bare = version.removesuffix(".*")
    yield bare
    yield f"{bare}.1"
    yield f"{bare}.post1"
    release = re.match(r"\d{1,9}(?:\.\d{1,9})*", bare)
    parts = release.group().split(".") if release else []
    if parts:
        yield ".".join([*parts[:-1], str(int(parts[-1]) + 1)])
    for at, part in enumerate(parts):
        if int(part) > 0:
            yield ".".join([*parts[:at], str(int(part) - 1), "99999"])
