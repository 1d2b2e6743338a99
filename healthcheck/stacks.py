"""The version matrix: which vLLM, CANN, torch and Python each vllm-ascend release belongs with.

The service does not say which row its image has. A row is chosen (`--stack`), and results that depend on it are
inferences.
The rows are data (`data/stacks.json`, with their source and date); docs/adding-a-release.md says how one is added.
"""

from __future__ import annotations

import functools
import importlib.resources
from collections.abc import Mapping
from dataclasses import dataclass

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version

from healthcheck import json_text
from healthcheck.errors import UsageError

DEFAULT = "0.23.0"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One vllm-ascend release.

    Attributes:
        vllm: the vLLM versions that it works with.
        python: a version specifier.
        requires: the release's own requirements of other packages, by normalised name ("" = any version).
        documented: False if the release's tag is the only source, since the published table lacks it.
        commit: the tag's commit, from which `requires` was read.
    """

    vllm_ascend: str
    vllm: tuple[str, ...]
    python: str
    cann: str
    torch: str
    torch_npu: str
    triton_ascend: str
    requires: Mapping[str, str]
    documented: bool
    commit: str

    @property
    def final(self) -> bool:
        """Whether this is a final release and no candidate."""
        return not Version(self.vllm_ascend).is_prerelease

    @property
    def quantizations(self) -> tuple[str, ...]:
        """The methods of weights that it loads; it refuses others (supported_quantization in its platform.py)."""
        return tuple(method for methods, since in _LOADS for method in methods if in_range(self.vllm_ascend, since))

    @property
    def detects_modelslim(self) -> bool:
        """Whether it recognises ModelSlim weights by quant_model_description.json alone.

        Source: vllm-ascend pull requests 6645 (adds it), 6873 (takes it out), 7111 (adds it again).
        """
        return any(in_range(self.vllm_ascend, since) for since in ("==0.15.0rc1", ">=0.17.0rc1"))

    def label(self) -> str:
        """The row as a message names it."""
        return f"vllm-ascend {self.vllm_ascend}"


_LOADS = (
    (("ascend",), ">=0"),
    (("compressed-tensors",), ">=0.12.0rc1"),
    (("fp8", "deepseek_v4_fp8"), ">=0.21.0rc1"),
)
"""Quantization methods with the releases that load them, read from the wheels of the releases."""
LOADED_LATER = ("modelopt_mxfp8", "mxfp8")
"""Methods that main loads at 182b75ea84ff (2026-08-22), and no release of the matrix."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A torch-npu release with the torch and the CANN that it was built for."""

    torch_npu: str
    torch: str
    cann: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """The row that is nearest to a set of versions.

    Attributes:
        agrees: names of the parts that are as the row has them.
        differs: for each other part, its name, its version here, and the row's.
    """

    row: Row
    agrees: tuple[str, ...]
    differs: tuple[tuple[str, str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Matrix:
    source: str
    read_on: str
    rows: tuple[Row, ...]
    vllm_source: str
    vllm_requires: Mapping[str, Mapping[str, str]]
    torch_npu_source: str
    torch_npu: tuple[tuple[str, str, str], ...]


@functools.cache
def _matrix() -> _Matrix:
    text = (importlib.resources.files("healthcheck") / "data" / "stacks.json").read_bytes()
    return json_text.load_as(text, _Matrix)


def source() -> str:
    """The source of the matrix, and the date."""
    return f"{_matrix().source}; read {_matrix().read_on}"


def rows() -> tuple[Row, ...]:
    """All rows, newest first."""
    return _matrix().rows


def pairs() -> tuple[Pair, ...]:
    """The published torch-npu releases with their torch and CANN, newest first."""
    return tuple(Pair(torch_npu=npu, torch=torch, cann=cann) for npu, torch, cann in _matrix().torch_npu)


def row(vllm_ascend: str = DEFAULT) -> Row:
    """The row of a vllm-ascend release.

    Raises:
        UsageError: the matrix has no such row.
    """
    wanted = vllm_ascend.removeprefix("v")
    for candidate in rows():
        if candidate.vllm_ascend == wanted:
            return candidate
    known = ", ".join(candidate.vllm_ascend for candidate in rows() if candidate.final)
    raise UsageError(f"the version matrix has no vllm-ascend {wanted!r}; final releases in it: {known}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """A requirement of one part of a row: a version specifier, and the package that states it."""

    by: str
    specifier: str


def statements(each: Row, package: str) -> tuple[Statement, ...]:
    """A row's requirements of a package (its normalised name): vllm-ascend's first, then vLLM's."""
    exact = {"torch": each.torch, "torch-npu": each.torch_npu, "triton-ascend": each.triton_ascend}
    exact |= {"vllm": each.vllm[0], "vllm-ascend": each.vllm_ascend}
    if exact.get(package):
        return (Statement(by=each.label(), specifier=f"=={exact[package]}"),)
    said = [Statement(by=each.label(), specifier=each.requires.get(package, ""))]
    said += [
        Statement(by=f"vllm {v}", specifier=_matrix().vllm_requires.get(v, {}).get(package, "")) for v in each.vllm
    ]
    return tuple(statement for statement in said if statement.specifier)


def installed(each: Row) -> Mapping[str, str]:
    """The versions of the packages in a row's image, by normalised name.

    Exact if the row states them. transformers is the newest version that its upper limit names, else the oldest
    that it allows; torchvision follows torch; a version that no row fixes is that of the newest image.
    """
    major, minor, patch = [*each.torch.split("."), "0"][:3]
    versions = _UNLIMITED | {
        "torch": each.torch,
        "torch-npu": each.torch_npu,
        "torchaudio": each.torch,
        "torchvision": f"{int(major) - 2}.{int(minor) + 15}.{patch}",
        "transformers": _within(_specifiers(each, "transformers")),
        "triton-ascend": each.triton_ascend,
        "vllm": f"{each.vllm[0]}+{_IMAGE_BUILD}",
        "vllm-ascend": each.vllm_ascend,
    }
    return {name: version for name, version in versions.items() if version}


_UNLIMITED = {"fastapi": "0.120.4", "numpy": "1.26.4", "uvicorn": "0.38.0"}
_IMAGE_BUILD = "empty"
"""The local part of vLLM's version in the image, which builds it with VLLM_TARGET_DEVICE=empty."""


def _specifiers(each: Row, package: str) -> tuple[str, ...]:
    """The row's requirements of a package; a vLLM older than all known ones counts as the oldest of them."""
    said = tuple(statement.specifier for statement in statements(each, package))
    oldest = _matrix().vllm_requires[min(_matrix().vllm_requires, key=Version)]
    return said or (oldest.get(package, ""),)


def _within(specifiers: tuple[str, ...]) -> str:
    """A version that specifiers allow: the newest that one names as allowed, else the oldest allowed one."""
    clauses = [clause for text in specifiers for clause in SpecifierSet(text)]
    for operators in ({"==", "<="}, {">="}):
        named = [clause.version for clause in clauses if clause.operator in operators]
        allowed = [version for version in named if all(in_range(version, text) for text in specifiers)]
        if allowed:
            return max(allowed, key=Version)
    return ""


def nearest(versions: Mapping[str, str]) -> Match:
    """The row that agrees with most of the versions given; among equals a final one, then the newest.

    `versions` has any of vllm_ascend, vllm, python, cann, torch, torch_npu, triton_ascend; empty ones are ignored.
    Local parts and post releases do not count (`0.23.0+empty` is vLLM 0.23.0; the matrix and the tags themselves
    differ in torch-npu's post releases).
    """
    known = {name: version for name, version in versions.items() if version and name in _PARTS}
    best = max(rows(), key=lambda each: (len(_agreeing(each, known)), each.final, Version(each.vllm_ascend)))
    agrees = _agreeing(best, known)
    differs = tuple((name, known[name], _stated(best, name)) for name in known if name not in agrees)
    return Match(row=best, agrees=agrees, differs=differs)


_PARTS = ("vllm_ascend", "vllm", "python", "cann", "torch", "torch_npu", "triton_ascend")


def _agreeing(each: Row, known: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(name for name, version in known.items() if _agrees(each, name, version))


def _agrees(each: Row, name: str, version: str) -> bool:
    if name == "python":
        return in_range(version, each.python)
    if name == "vllm":
        return any(same_release(version, candidate) for candidate in each.vllm)
    return same_release(version, _stated(each, name))


def _stated(each: Row, name: str) -> str:
    return ", ".join(each.vllm) if name == "vllm" else str(getattr(each, name))


def same_release(one: str, other: str) -> bool:
    """Whether two versions are the same but for local parts, post and development releases (case ignored)."""
    try:
        return _release(one) == _release(other)
    except InvalidVersion:
        return one.strip().lower() == other.strip().lower()


def _release(text: str) -> tuple[Version, tuple[str, int] | None]:
    version = Version(text.strip())
    return Version(version.base_version), version.pre


def is_older(one: str, other: str) -> bool:
    """Whether a version comes before another one."""
    return Version(one) < Version(other)


def in_range(version: str, specifier: str) -> bool:
    """Whether a version lies in a range of versions; a text that is not a version does not."""
    try:
        return SpecifierSet(specifier).contains(version.strip(), prereleases=True)
    except (InvalidVersion, InvalidSpecifier):
        return False
