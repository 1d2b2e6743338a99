"""What vLLM and transformers know models by, as `data/known-models.json` lists it with its sources."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from healthcheck.system import json_text
from healthcheck.system.files import DATA


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """The names of one family's models: ends of architectures, a pattern for others, and types."""

    suffixes: tuple[str, ...] = ()
    pattern: str = "(?!)"
    model_types: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownModels:
    """Names of models; a "name" is a model_type or an architecture.

    Attributes:
        with_mtp: names with layers for multi-token prediction; `with_mtp_later` those that later releases add.
        experts_by_default: model types whose configuration class has experts even if config.json names none.
        own_encoding: architectures whose prompts vLLM writes in code; `own_modes` the values of --tokenizer-mode.
        brought_templates: model types for which vLLM brings a chat template.
        with_processor: model types whose images and sounds the processor of the transformers library prepares.
        takes, makes: keys of a configuration that name a part for images or sounds, by "image" and "audio".
        diffusion: parts of the architectures of pipelines.
        generating: ends of the architectures of models that generate text.
        families: the names of the others, by a family's name in lower case.
    """

    sources: Mapping[str, str]
    with_mtp: frozenset[str]
    with_mtp_later: frozenset[str]
    experts_by_default: frozenset[str]
    own_encoding: frozenset[str]
    own_modes: frozenset[str]
    brought_templates: frozenset[str]
    with_processor: frozenset[str]
    takes: Mapping[str, frozenset[str]]
    makes: Mapping[str, frozenset[str]]
    diffusion: tuple[str, ...]
    generating: tuple[str, ...]
    families: Mapping[str, Names]


@cache
def known_models() -> KnownModels:
    """The list that the kit carries."""
    return json_text.load_as((DATA / "known-models.json").read_bytes(), KnownModels)
