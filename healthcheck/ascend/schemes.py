"""The quantization schemes that each vllm-ascend release registers, by chip and kind of layer.

The catalogue is data (`data/schemes.json`), read from the releases' own source by scripts/make_scheme_catalogue.py.
A scheme is written as its name and its kind of layer: "W8A8_DYNAMIC moe".
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field

from healthcheck.ascend.hardware import Family
from healthcheck.system import json_text
from healthcheck.system.files import DATA

IN_GROUPS = "in groups"
"""Suffix for a scheme of compressed-tensors whose weights have a scale for each group of a channel."""
MINIMAX = "minimax_m2"
EXPANDED, DISPUTED = "expanded", "disputed"
CATALOGUE = DATA / "schemes.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Attention:
    """How one release treats --attention-backend and --kv-cache-dtype.

    Attributes:
        backend: "own" if the release always uses its own attention, "flash-attn" if only FLASH_ATTN may change
            that, "" if it is not known.
        fp8_needs_950: fp8 on other chips ends with an AssertionError.
        needs_scales: a cache of another format than 16 bits ends with a ValueError, unless the weights contain its
            scales; models with latent attention have rules of their own.
        writes_16_bits: except on a 310P or a 950, the operator that writes the cache takes 16 bits only.
        sparse_keeps_dtype: models with index_topk always have a cache in their own format.
    """

    backend: str = ""
    fp8_needs_950: bool = False
    needs_scales: bool = False
    writes_16_bits: bool = False
    sparse_keeps_dtype: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Registry:
    """What one release registers.

    Attributes:
        methods: the values of quant_method that its platform accepts.
        schemes: "W8A8_DYNAMIC moe" … by chip: "any" has those of every chip but the 310P, "950" those in number
            formats that only the 950 has, "310P" those of the 310P. Without "310P" one registry is for all chips.
        compressed_tensors: the schemes that its configuration class for compressed-tensors can select.
        reads: keys of the model's configuration without which a scheme's class raises AttributeError.
        fp8_in_blocks: it takes FP8 weights with a weight_block_size and dynamic activations, and no others.
        fp8_of_minimax: the treatment of FP8 weights of MiniMax-M2, by chip: "expanded" to 16 bits without a scheme,
            or "disputed" if it is not certain that they are read correctly; empty if they are like other models'.
    """

    vllm_ascend: str
    methods: tuple[str, ...]
    schemes: Mapping[str, tuple[str, ...]]
    compressed_tensors: tuple[str, ...]
    reads: Mapping[str, tuple[str, ...]]
    fp8_in_blocks: bool
    fp8_of_minimax: Mapping[str, str]
    attention: Attention = field(default_factory=Attention)

    @property
    def known(self) -> bool:
        """Whether the release has schemes of its own; the first releases left them to another package."""
        return any(self.schemes.values())

    def of_chip(self, family: Family) -> frozenset[str]:
        if family is Family.P310 and "310P" in self.schemes:
            return frozenset(self.schemes["310P"])
        newest = self.schemes.get("950", ()) if family is Family.A5 else ()
        return frozenset((*self.schemes.get("any", ()), *newest))

    def fp8_of(self, model_type: str, family: Family) -> str:
        """The special treatment of a model's FP8 weights on a chip, which no scheme covers; "" for none."""
        if model_type != MINIMAX or family is Family.P310:
            return ""
        return self.fp8_of_minimax.get("950" if family is Family.A5 else "any", "")

    def has(self, scheme: str) -> bool:
        """Whether the release has the scheme for any chip."""
        return any(scheme in labels for labels in self.schemes.values())

    def only_on_950(self, scheme: str) -> bool:
        """Whether the release has the scheme for the 950 only."""
        return scheme in self.schemes.get("950", ())


@dataclass(frozen=True, slots=True, kw_only=True)
class _Catalogue:
    source: str
    releases: tuple[Registry, ...]


@functools.cache
def registries() -> tuple[Registry, ...]:
    """All catalogued releases, newest first."""
    return json_text.load_as(CATALOGUE.read_bytes(), _Catalogue).releases


def registry(vllm_ascend: str) -> Registry | None:
    """The registry of a release; None if it is not catalogued."""
    return next((each for each in registries() if each.vllm_ascend == vllm_ascend), None)
