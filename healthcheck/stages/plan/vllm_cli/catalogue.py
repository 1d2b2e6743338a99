"""Catalogues of the options and environment variables that vLLM releases accept.

scripts/make_flag_catalogue.py generates the file of a release, `data/vllm-<version>.json`, from its own parser
and its envs.py.
"""

from __future__ import annotations

import difflib
import enum
import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from healthcheck.ascend import stacks
from healthcheck.ascend.variables import Variable
from healthcheck.system import json_text
from healthcheck.system.files import DATA

PREFIX, SUFFIX = "vllm-", ".json"
CHOICES_OF_VLLM_ASCEND = {
    "--kv-cache-dtype": (("int8", "0.29.0"), ("mxfp8", "0.30.0")),
    "--attention-config.indexer_kv_dtype": (("int8", "0.30.0"),),
    "--eplb-config.communicator": (("hixl", "0.30.0"),),
    "--eplb-config.policy": (("stair", "0.30.0"),),
}
"""Choices with their first vLLM release. Source: patch_kv_cache_dtype.py, patch_indexer_kv_dtype.py and
patch_eplb.py, in vllm_ascend/patch/platform."""

CLEARLY_CLOSER = 0.05


class Kind(enum.Enum):
    """The type of an option's value. COUNT has units (1k, 8M); JSON_OR_TEXT is JSON if in braces."""

    SWITCH = "switch"
    INT = "int"
    FLOAT = "float"
    COUNT = "count"
    COUNT_OR_AUTO = "count-or-auto"
    JSON = "json"
    JSON_OR_TEXT = "json-or-text"
    TEXT = "text"


class JsonKind(enum.Enum):
    """The kind of a value in a configuration object. BIT is 0 or 1; "true" and "12" have kinds of their own."""

    NULL = "null"
    SWITCH = "switch"
    BIT = "bit"
    INT = "int"
    FLOAT = "float"
    SWITCH_TEXT = "switch-text"
    INT_TEXT = "int-text"
    FLOAT_TEXT = "float-text"
    TEXT = "text"
    LIST = "list"
    OBJECT = "object"


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One field of a configuration object.

    Attributes:
        takes: the kinds of values; empty if it is not known what the field refuses.
        choices: the accepted texts; empty if any is.
        range: as that of an option.
        fields: those of a nested object; empty if any key is accepted.
    """

    takes: tuple[JsonKind, ...] = ()
    choices: tuple[str, ...] = ()
    range: tuple[float | None, ...] = ()
    fields: Mapping[str, Field] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One option of `vllm serve`.

    Attributes:
        flags: all spellings, including the negative form of a switch.
        nargs: None for one value, "?" for one or none, "+" for one or more.
        optional: "None" and the empty string are accepted, too.
        fields: those of a configuration object; empty if any key is accepted.
        range: the limits "at least", "more than", "at most", "less than".
        repeats: the option may be repeated, and every value counts.
    """

    flags: tuple[str, ...]
    kind: Kind
    nargs: str | None = None
    optional: bool = False
    choices: tuple[str, ...] = ()
    fields: Mapping[str, Field] = field(default_factory=dict)
    range: tuple[float | None, ...] = ()
    repeats: bool = False

    @property
    def name(self) -> str:
        """The first long spelling."""
        return next((flag for flag in self.flags if flag.startswith("--")), self.flags[0])


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalogue:
    """The options of one vLLM release; `known` has names that it looks up after parsing."""

    vllm: str
    known: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    options: tuple[Option, ...]

    def find(self, flag: str) -> Option | None:
        """The option with exactly this spelling."""
        return _by_flag(self.vllm).get(flag)

    def starting(self, prefix: str) -> tuple[str, ...]:
        """The long spellings that a prefix abbreviates."""
        return tuple(flag for flag in _by_flag(self.vllm) if flag.startswith(prefix))

    def added_choices(self, name: str) -> tuple[str, ...]:
        """The choices that vllm-ascend adds to an option, or to a field by its path."""
        added = CHOICES_OF_VLLM_ASCEND.get(name, ())
        return tuple(choice for choice, since in added if not stacks.is_older(self.vllm, since))

    def like(self, flag: str) -> str:
        """The closest spelling to an unknown flag, "" if none is similar."""
        near = difflib.get_close_matches(flag, _by_flag(self.vllm), n=1, cutoff=0.8)
        return near[0] if near else ""

    def is_the_only_one_like(self, flag: str) -> bool:
        """Whether no other option than the closest is nearly as close."""
        near = difflib.get_close_matches(flag, _by_flag(self.vllm), n=2, cutoff=0.8)
        close = [difflib.SequenceMatcher(None, each, flag).ratio() for each in near]
        return len(close) == 1 or (len(close) == 2 and close[0] - close[1] >= CLEARLY_CLOSER)


@functools.cache
def versions() -> tuple[str, ...]:
    """The catalogued releases, oldest first."""
    names = (entry.name for entry in DATA.iterdir())
    found = (
        name.removeprefix(PREFIX).removesuffix(SUFFIX) for name in names if name.startswith(PREFIX)
    )
    return tuple(sorted(found, key=_release))


@functools.cache
def catalogue(version: str) -> Catalogue:
    """The catalogue of a release in `versions()`."""
    return json_text.load_as(_file(version), Catalogue)


def around(version: str) -> tuple[str, ...]:
    """The catalogued releases next to a vLLM version: itself, or those directly before and after it."""
    older = [each for each in versions() if _release(each) <= _release(version)]
    newer = [each for each in versions() if _release(each) > _release(version)]
    return (version,) if version in older else (*older[-1:], *newer[:1])


def nearest(version: str) -> Catalogue:
    """The catalogue of a vLLM version, else of the newest catalogued release before it, else of the oldest."""
    return catalogue(around(version)[0])


@dataclass(frozen=True, slots=True, kw_only=True)
class _Environment:
    variables: Mapping[str, Variable]


@functools.cache
def variables(version: str) -> Mapping[str, Variable]:
    """The environment variables of a release in `versions()`, those of its envs.py."""
    return json_text.load_as(_file(version), _Environment).variables


def _file(version: str) -> bytes:
    return (DATA / f"{PREFIX}{version}{SUFFIX}").read_bytes()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Retired:
    last_read_by: Mapping[str, str]


@functools.cache
def retired_variables() -> Mapping[str, str]:
    """The variables that only older releases read, with the newest of those releases."""
    return json_text.load_as((DATA / "retired-variables.json").read_bytes(), _Retired).last_read_by


@functools.cache
def limits(name: str) -> tuple[float | None, ...]:
    """The limits of an option in the newest release that declares any; older releases check them after parsing."""
    declared = (catalogue(version).find(name) for version in reversed(versions()))
    return next((option.range for option in declared if option and option.range), (None,) * 4)


@functools.cache
def _by_flag(version: str) -> dict[str, Option]:
    return {flag: option for option in catalogue(version).options for flag in option.flags}


def _release(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", version)[:3])
