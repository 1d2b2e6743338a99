# ruff: noqa: INP001 - scripts are no package
"""What a maintainer looks at after scripts/add_release.py: each new thing beside the one before it."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from packaging.version import Version
from release_row import Row

_COLUMNS = ("vllm", "python", "cann", "torch", "torch_npu", "triton_ascend", "documented", "commit")
MANY = 12


def of_row(row: Row, known: Row | None, older: Row | None) -> Iterator[str]:
    """A row beside the known one of its release, or else beside the row of the release before it."""
    before = known or older
    name = f"vllm-ascend {row['vllm_ascend']}"
    if known is not None:
        changed = list(_changes(row, known))
        yield f"{name}: {'no change' if not changed else 'changed'}"
        yield from changed
        return
    columns = ", ".join(f"{column} {_shown(row[column])}" for column in _COLUMNS)
    yield f"{name}: new row: {columns}"
    if before is not None:
        yield f"  beside {before['vllm_ascend']}:"
        yield from _changes(row, before, columns=())


def _changes(row: Row, before: Row, columns: Sequence[str] = _COLUMNS) -> Iterator[str]:
    for column in columns:
        if row[column] != before.get(column):
            yield f"    {column}: {_shown(before.get(column))} -> {_shown(row[column])}"
    yield from _differences("requires", _pairs(row["requires"]), _pairs(before["requires"]))
    yield from _differences("variables", _words(row["variables"]), _words(before.get("variables")))


def of_schemes(new: Row, rows: Sequence[Row]) -> Iterator[str]:
    """The quantization schemes of a release beside those that are known of it, or of the release before it."""
    version = Version(str(new["vllm_ascend"]))
    older = [row for row in rows if Version(str(row["vllm_ascend"])) <= version]
    if older:
        before = max(older, key=lambda row: Version(str(row["vllm_ascend"])))
        yield from _differences(f"schemes beside {before['vllm_ascend']}", _schemes(new), _schemes(before))


def _schemes(row: Row) -> set[str]:
    chips: Mapping[str, Iterable[str]] = row["schemes"]  # type: ignore[assignment]
    methods: Iterable[str] = row["methods"]  # type: ignore[assignment]
    return {*methods, *(f"{label} ({chip})" for chip, labels in chips.items() for label in labels)}


def of_flags(version: str, text: str, before: str) -> Iterator[str]:
    """A catalogue of options beside that of the release before it ("" if there is none)."""
    new, old = json.loads(text), json.loads(before or '{"vllm": "none", "options": []}')
    yield f"vllm {version}: {len(new['options'])} options; beside {old['vllm']}:"
    yield from _differences("options", _flags(new), _flags(old))


def of_architectures(version: str, releases: Sequence[Mapping[str, object]]) -> Iterator[str]:
    """A release's architectures beside those of the release before it."""
    at = next(index for index, release in enumerate(releases) if release["vllm"] == version)
    new, old = releases[at], releases[at - 1] if at else None
    yield f"vllm {version}: {len(_served(new))} architectures, with transformers {new['transformers']}"
    if old is not None:
        yield from _differences(f"architectures beside {old['vllm']}", _served(new), _served(old))


def _served(release: Mapping[str, object]) -> set[str]:
    groups: Mapping[str, Iterable[str]] = release["groups"]  # type: ignore[assignment]
    return {name for members in groups.values() for name in members}


def _flags(catalogue: Mapping[str, Sequence[Mapping[str, Sequence[str]]]]) -> set[str]:
    return {flag for option in catalogue["options"] for flag in option["flags"]}


def _pairs(requires: object) -> set[str]:
    return {f"{name}{specifier}" for name, specifier in requires.items()}  # type: ignore[attr-defined]


def _words(of: object) -> set[str]:
    return set(of or ())  # type: ignore[call-overload]


def _differences(of: str, new: Collection[str], old: Collection[str]) -> Iterator[str]:
    for sign, names in (("+", set(new) - set(old)), ("-", set(old) - set(new))):
        if names:
            more = f" and {len(names) - MANY} more" if len(names) > MANY else ""
            yield f"    {of} {sign} {' '.join(sorted(names)[:MANY])}{more}"


def _shown(value: object) -> str:
    if isinstance(value, (list, tuple)):
        return "/".join(map(str, value))
    return {None: "unknown", "": "none", True: "yes", False: "no"}.get(value, str(value))  # type: ignore[arg-type, call-overload]
