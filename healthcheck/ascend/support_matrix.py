"""What each vllm-ascend release says of the models that it supports, in its own support matrix.

The catalogue is data (`data/support-matrix.json`), read from the releases' documents and source by
scripts/make_notes_catalogue.py; how a model of the matrix is recognised in config.json is written there by hand.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass

from healthcheck.system import json_text
from healthcheck.system.files import DATA

CATALOGUE = DATA / "support-matrix.json"
MATRIX = "docs/source/user_guide/support_matrix/supported_models.md"
"""Its place in the sdist of a release."""
ALIBI, SOFT_CAP = "alibi", "soft-cap"


@dataclass(frozen=True, slots=True, kw_only=True)
class Name:
    """How a model is recognised: by its architecture, unless its language model's type has one of some words."""

    architectures: tuple[str, ...]
    unless: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Lack:
    """Features that the matrix marks as not supported for a model on some hardware."""

    model: str
    hardware: str
    features: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Support:
    """The matrix of one release.

    Attributes:
        unsupported: models marked ❌, each with its issue.
        untested: models marked as not tried.
        not_computed: what its attention accepts and does not compute: ALIBI, SOFT_CAP.
    """

    vllm_ascend: str
    unsupported: Mapping[str, int | None]
    untested: tuple[str, ...]
    without: tuple[Lack, ...]
    not_computed: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalogue:
    source: str
    names: Mapping[str, Name]
    releases: tuple[Support, ...]

    def models(self, architecture: str, language_model: str) -> frozenset[str]:
        """The models of the matrix that a configuration may be of."""
        return frozenset(
            model
            for model, name in self.names.items()
            if architecture in name.architectures
            and not any(word in language_model for word in name.unless)
        )


@functools.cache
def catalogue() -> Catalogue:
    return json_text.load_as(CATALOGUE.read_bytes(), Catalogue)
