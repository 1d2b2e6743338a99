"""The version matrix: the vLLM, CANN, torch and Python that each vllm-ascend release belongs with.

The service does not say which row its image has. A row is chosen (`--stack`), and results that depend on it are
inferences.
The rows are data (`data/stacks.json`, with their source and date); docs/adding-a-release.md says how to add one.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version

from healthcheck import contract
from healthcheck.ascend import schemes
from healthcheck.ascend.variables import Variable
from healthcheck.errors import UsageError
from healthcheck.system import json_text
from healthcheck.system.files import DATA
from healthcheck.text.did_you_mean import hint
from healthcheck.text.messages import joined, msg


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One vllm-ascend release.

    Attributes:
        vllm: the vLLM versions that it works with.
        python: a version specifier.
        cann: None if neither the published table nor the release itself states it.
        requires: the release's own requirements of other packages, by normalised name.
        variables: the environment variables that it reads (envs.py, and its own VLLM_ASCEND_…).
        accepts: the variables of its envs.py that refuse some values; empty if it was not asked.
        documented: False if the release itself is the only source, since the published table lacks it.
        commit: its commit, or the beginning of its hash; None if the release does not state it.
        released: the day of its release, by the release notes; None if they do not have it.
        restricted_to: the models that a candidate is for, if its notes say that it is for some alone.
    """

    vllm_ascend: str
    vllm: tuple[str, ...]
    python: str
    cann: str | None
    torch: str
    torch_npu: str
    triton_ascend: str
    requires: Mapping[str, str]
    variables: tuple[str, ...]
    documented: bool | None
    commit: str | None
    released: str | None = None
    restricted_to: tuple[str, ...] = ()
    accepts: Mapping[str, Variable] = field(default_factory=dict)

    @property
    def final(self) -> bool:
        """Whether this is a final release, not a candidate."""
        return not Version(self.vllm_ascend).is_prerelease

    @property
    def quantizations(self) -> tuple[str, ...]:
        """The quantization methods that it loads; it refuses others (supported_quantization in its platform.py)."""
        registered = schemes.registry(self.vllm_ascend)
        return registered.methods if registered else ()

    @property
    def detects_modelslim(self) -> bool:
        """Whether it recognises ModelSlim weights by quant_model_description.json alone.

        Source: vllm-ascend pull requests 6645 (adds it), 6873 (takes it out), 7111 (adds it again).
        """
        return any(in_range(self.vllm_ascend, since) for since in ("==0.15.0rc1", ">=0.17.0rc1"))

    def label(self) -> str:
        """The release's name for messages."""
        return f"vllm-ascend {self.vllm_ascend}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """The row to judge by.

    Attributes:
        asked: the requested release if it has no row; "" if the row is the requested one.
    """

    row: Row
    asked: str = ""

    @property
    def doubt(self) -> str:
        """Why results that depend on the row are not certain; "" if they are."""
        if not self.asked:
            return ""
        oldest, *_, newest = sorted((each.vllm_ascend for each in rows()), key=Version)
        nearest = msg(
            "judged as {vllm_ascend}, the nearest of {oldest} to {newest}",
            vllm_ascend=self.row.vllm_ascend,
            oldest=oldest,
            newest=newest,
        )
        return msg(
            "the version matrix has no row of vllm-ascend {asked}: {nearest}",
            asked=self.asked,
            nearest=nearest,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Matrix:
    source: str
    read_on: str
    rows: tuple[Row, ...]
    vllm_requires: Mapping[str, Mapping[str, str]]


@functools.cache
def _matrix() -> _Matrix:
    return json_text.load_as((DATA / "stacks.json").read_bytes(), _Matrix)


def source() -> str:
    """The source and date of the matrix."""
    return msg(
        "{source}; requires: the metadata and the Dockerfile of each release; read {read_on}",
        source=_matrix().source,
        read_on=_matrix().read_on,
    )


def age() -> str:
    """How old the newest row with a date is, and when the matrix was read."""
    newest = next(each for each in rows() if each.released)
    days = (date.today() - date.fromisoformat(newest.released or "")).days  # noqa: DTZ011 - a day is enough
    return msg(
        "newest row: {label} of {released}, {days} days old; read {read_on}",
        label=newest.label(),
        released=newest.released,
        days=days,
        read_on=_matrix().read_on,
    )


def rows() -> tuple[Row, ...]:
    """All rows, newest first."""
    return _matrix().rows


DEFAULT = next(each.vllm_ascend for each in rows() if each.final)
"""The newest final release."""


def row(vllm_ascend: str = DEFAULT) -> Row:
    """The row of a vllm-ascend release, or of the nearest one, as `choose` finds it."""
    return choose(vllm_ascend).row


_IMAGE = re.compile(r"(?:-(?:a[235]|310p|openeuler))+$")
"""The end of an image's tag, for a chip and a distribution."""


def is_of_the_service(each: Row) -> bool:
    """Whether the profile of the service in force says that its image has this release."""
    return contract.service().release is not None and choose(
        contract.service().release or ""
    ) == Choice(row=each)


def choose(vllm_ascend: str = "") -> Choice:
    """The row of a vllm-ascend release in any spelling, or of the tag of an image; "" is the default release.

    A release without a row is judged by the newest row before it, or else by the oldest.

    Raises:
        UsageError: the text is not a version.
    """
    wanted = _IMAGE.sub("", (vllm_ascend or DEFAULT).strip())
    try:
        version = Version(wanted)
    except InvalidVersion:
        near = hint(wanted.removeprefix("v"), (each.vllm_ascend for each in rows()))
        final = ", ".join(each.vllm_ascend for each in rows() if each.final)
        also = near or msg("; final ones: {final}", final=final)
        raise UsageError(
            msg("{wanted} is not a release of vllm-ascend{near}", wanted=repr(wanted), near=also)
        ) from None
    newest_first = sorted(rows(), key=_version, reverse=True)
    known = next((each for each in newest_first if _version(each) <= version), newest_first[-1])
    return Choice(row=known, asked="" if _version(known) == version else str(version))


def _version(each: Row) -> Version:
    return _parsed(each.vllm_ascend)


@functools.lru_cache(maxsize=256)
def _parsed(version: str) -> Version:
    return Version(version)


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """A requirement in a row: a version specifier, and the package that states it."""

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
        Statement(by=f"vllm {v}", specifier=_matrix().vllm_requires.get(v, {}).get(package, ""))
        for v in each.vllm
    ]
    return tuple(statement for statement in said if statement.specifier)


def installed(each: Row) -> Mapping[str, str]:
    """The versions of the packages in a row's image, by normalised name.

    Exact if the row states them. transformers is the newest version that its upper limit names, else the oldest
    allowed one; torchvision follows torch; a version that no row states is that of the newest image.
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


def dependencies(each: Row) -> frozenset[str]:
    """The packages that a row's vllm-ascend and vLLM require, by normalised name."""
    return frozenset(each.requires).union(
        *(_matrix().vllm_requires.get(version, {}) for version in each.vllm)
    )


_UNLIMITED = {"fastapi": "0.120.4", "numpy": "1.26.4", "uvicorn": "0.38.0"}
_IMAGE_BUILD = "empty"
"""The local part of vLLM's version in the image, which builds it with VLLM_TARGET_DEVICE=empty."""


def _specifiers(each: Row, package: str) -> tuple[str, ...]:
    """The row's requirements of a package; those of the oldest known vLLM if the row's vLLM is older."""
    said = tuple(statement.specifier for statement in statements(each, package))
    oldest = _matrix().vllm_requires[min(_matrix().vllm_requires, key=Version)]
    return said or (oldest.get(package, ""),)


def _within(specifiers: tuple[str, ...]) -> str:
    """A version that all specifiers allow: the newest upper limit or pin, else the newest lower limit."""
    clauses = [clause for text in specifiers for clause in SpecifierSet(text)]
    for operators in ({"==", "<="}, {">="}):
        named = [clause.version for clause in clauses if clause.operator in operators]
        allowed = [
            version for version in named if all(in_range(version, text) for text in specifiers)
        ]
        if allowed:
            return max(allowed, key=Version)
    return ""


def nearest(versions: Mapping[str, str]) -> Row:
    """The row that agrees with most of the given versions. Ties go to the exact release, a final one, the newest.

    `versions` has any of vllm_ascend, vllm, python, cann, torch, torch_npu, triton_ascend; empty ones are ignored.
    Local parts and post releases do not count (`0.23.0+empty` is vLLM 0.23.0; the matrix and the tags themselves
    differ in torch-npu's post releases).
    """
    known = {name: version for name, version in versions.items() if version and name in _PARTS}
    release = known.get("vllm_ascend", "").strip()

    def nearness(each: Row) -> tuple[int, bool, bool, Version]:
        agreeing = sum(_agrees(each, name, version) for name, version in known.items())
        return (agreeing, each.vllm_ascend == release, each.final, _version(each))

    return max(rows(), key=nearness)


_PARTS = ("vllm_ascend", "vllm", "python", "cann", "torch", "torch_npu", "triton_ascend")


def _agrees(each: Row, name: str, version: str) -> bool:
    if name == "python":
        return in_range(version, each.python)
    if name == "vllm":
        return any(same_release(version, candidate) for candidate in each.vllm)
    return same_release(version, getattr(each, name) or "")


def same_release(one: str, other: str) -> bool:
    """Whether two versions are equal, ignoring local parts, post and development releases, and case."""
    try:
        return _release(one) == _release(other)
    except InvalidVersion:
        return one.strip().lower() == other.strip().lower()


def _release(text: str) -> tuple[Version, tuple[str, int] | None]:
    version = Version(text.strip())
    return Version(version.base_version), version.pre


def spans(some: Iterable[str], known: Iterable[str]) -> str:
    """Releases in words, oldest first; three or more that follow each other in `known` become "first to last"."""
    wanted, groups = set(some), [list[str]()]
    for version in sorted(known, key=Version):
        if version in wanted:
            groups[-1].append(version)
        else:
            groups.append([])
    said = [
        [msg("{first} to {last}", first=group[0], last=group[-1])] if len(group) > 2 else group
        for group in groups
    ]
    return joined(", ", (word for words in said for word in words))


def limits(releases: Iterable[str]) -> str:
    """Which of these releases are for some models alone, in brackets; "" if none is."""
    named = [each for each in (row(release) for release in releases) if each.restricted_to]
    said = (
        msg(
            "{label} is for {models} alone",
            label=each.label(),
            models=", ".join(each.restricted_to),
        )
        for each in named
    )
    return msg(" ({said})", said=joined("; ", said)) if named else ""


def is_older(one: str, other: str) -> bool:
    return Version(one) < Version(other)


def in_range(version: str, specifier: str) -> bool:
    """Whether a version lies in a range of versions; False for a text that is not a version."""
    try:
        return SpecifierSet(specifier).contains(version.strip(), prereleases=True)
    except (InvalidVersion, InvalidSpecifier):
        return False
