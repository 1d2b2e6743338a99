"""The keys of --additional-config that each vllm-ascend release has, and what it says when it refuses one.

The catalogue is data (`data/additional-config.json`), read from the releases' source by
scripts/make_config_catalogue.py. Its rules are written by hand; the script lists the releases that have their
sentences.
"""

from __future__ import annotations

import enum
import functools
from collections.abc import Mapping
from dataclasses import dataclass

from healthcheck.system import json_text
from healthcheck.system.files import DATA

CATALOGUE = DATA / "additional-config.json"


class Needs(enum.Enum):
    """What a launch must have for a key."""

    EXPERTS = "experts"
    LATENT_ATTENTION = "latent-attention"
    INDEXER = "indexer"
    DECODE_NODE = "decode-node"
    DATA_PARALLEL = "data-parallel"
    PIPELINE = "pipeline"
    EPLB_VARIABLE = "eplb-variable"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A refusal that depends on the model or on other options.

    Attributes:
        key: the last parts of the key's path, such as "profiling_chunk_config.enabled"; a last part "*" means each
            key of the object, as in "finegrained_tp_config.*".
        sentence: what the releases say when they end.
    """

    key: str
    needs: Needs
    sentence: str
    releases: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Keys:
    """What one release has.

    Attributes:
        groups: the keys of each object by its dotted path, "" for the whole option. An object without a group takes
            any key.
        refusals: what the release says of other keys of an object, before it ends. Without a sentence it ignores
            them; that of "" is for all objects.
    """

    vllm_ascend: str
    groups: Mapping[str, frozenset[str]]
    refusals: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Catalogue:
    source: str
    rules: tuple[Rule, ...]
    releases: tuple[Keys, ...]


@functools.cache
def _catalogue() -> _Catalogue:
    return json_text.load_as(CATALOGUE.read_bytes(), _Catalogue)


def releases() -> tuple[Keys, ...]:
    """All catalogued releases, newest first."""
    return _catalogue().releases


def rules(vllm_ascend: str) -> tuple[Rule, ...]:
    """The rules of a release."""
    return tuple(rule for rule in _catalogue().rules if vllm_ascend in rule.releases)
