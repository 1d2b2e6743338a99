# ruff: noqa: INP001 - scripts are no package
"""The summary of scripts/add_release.py for a maintainer: each new entry compared with the previous one."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from packaging.version import Version

from healthcheck.stages.plan.importable import spanned

_COLUMNS = ("vllm", "python", "cann", "torch", "torch_npu", "triton_ascend", "documented", "commit", "released",
            "restricted_to")  # fmt: skip
MANY = 40


def of_row(
    row: Mapping[str, Any], known: Mapping[str, Any] | None, older: Mapping[str, Any] | None
) -> Iterator[str]:
    """A row compared with the known one of its release, or else with the previous release's."""
    name = f"vllm-ascend {row['vllm_ascend']}"
    if known is None:
        yield f"{name}: new row, beside {older['vllm_ascend'] if older else 'none'}:"
    else:
        yield f"{name}: {'no change' if _of_row(row) == _of_row(known) else 'changed'}"
    yield from _differences("", _of_row(row), _of_row(known or older or {}))


def of_schemes(new: Mapping[str, Any], rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """The quantization schemes of a release compared with those known of it, or of the previous release."""
    yield from _beside("schemes", new, rows, _of_schemes)


def of_keys(new: Mapping[str, Any], rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """The keys of --additional-config of a release compared with those known of it, or of the previous release."""
    yield from _beside("keys of --additional-config", new, rows, _of_keys)


def of_support(new: Mapping[str, Any], rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """The models and features that the support matrix marks with ❌, compared in the same way."""
    yield from _beside("without support", new, rows, _of_support)


def of_notes(version: str, notes: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """The known issues of a release that name an option, a variable or a model."""
    for release in notes:
        if release["vllm_ascend"] == version:
            for issue in release["known_issues"]:
                numbers = ", ".join(map(str, issue["issues"]))
                yield f"    known issue {numbers}: {issue['said']}"


def _beside(
    what: str,
    new: Mapping[str, Any],
    rows: Iterable[Mapping[str, Any]],
    names: Callable[[Mapping[str, Any]], set[str]],
) -> Iterator[str]:
    """What a release has and the known row of it, or of the previous release, has not, and the other way round."""
    older = [row for row in rows if Version(row["vllm_ascend"]) <= Version(new["vllm_ascend"])]
    if older:
        before = max(older, key=lambda row: Version(row["vllm_ascend"]))
        yield from _differences(
            f"{what} beside {before['vllm_ascend']} ", names(new), names(before)
        )


def of_flags(version: str, text: str, before: str) -> Iterator[str]:
    """A catalogue of options compared with the previous release's ("" if there is none)."""
    new, old = ({flag for option in json.loads(each)["options"] for flag in option["flags"]} if each else set()
                for each in (text, before))  # fmt: skip
    yield f"vllm {version}: {len(new)} options"
    yield from _differences("options ", new, old)


def of_names(
    package: str, version: str, before: str, importable: Mapping[str, Any]
) -> Iterator[str]:
    """The modules of a release compared with those of a release before it."""
    known = importable[package]
    modules = {each: {module for module, groups in known["modules"].items()
                      if any(each in spanned(span, known["releases"]) for span in groups)}
               for each in (version, before)}  # fmt: skip
    yield f"{package} {version}: {len(modules[version])} modules"
    yield from _differences("modules ", modules[version], modules[before])


def of_architectures(version: str, releases: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """A release's architectures compared with the previous release's."""
    served = {
        each["vllm"]: {name for group in each["groups"].values() for name in group}
        for each in releases
    }
    before = [each for each in served if Version(each) < Version(version)]
    yield f"vllm {version}: {len(served[version])} architectures"
    yield from _differences(
        "architectures ", served[version], served[before[-1]] if before else set()
    )


def _of_row(row: Mapping[str, Any]) -> set[str]:
    columns = {f"{column}={json.dumps(row.get(column))}" for column in _COLUMNS}
    requires = {f"{name}{specifier}" for name, specifier in row.get("requires", {}).items()}
    return columns | requires | set(row.get("variables", ()))


def _of_schemes(row: Mapping[str, Any]) -> set[str]:
    labels = {f"{label} ({chip})" for chip, labels in row["schemes"].items() for label in labels}
    return labels | set(row["methods"])


def _of_keys(row: Mapping[str, Any]) -> set[str]:
    keys = {
        f"{path}.{key}" if path else key for path, keys in row["groups"].items() for key in keys
    }
    return keys | {f"refused in {path or 'the whole'}" for path in row["refusals"]}


def _of_support(row: Mapping[str, Any]) -> set[str]:
    lacks = ((each, name) for each in row["without"] for name in each["features"])
    said = {f"{each['model']} on {each['hardware']}: {name}" for each, name in lacks}
    return said | set(row["unsupported"]) | set(row["not_computed"])


def _differences(of: str, new: set[str], old: set[str]) -> Iterator[str]:
    for sign, names in (("+", new - old), ("-", old - new)):
        if names:
            more = f" and {len(names) - MANY} more" if len(names) > MANY else ""
            yield f"    {of}{sign} {', '.join(sorted(names)[:MANY])}{more}"
