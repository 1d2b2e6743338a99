"""The names by which vLLM and transformers know models, from `data/known-models.json`, which has the sources."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from healthcheck.system import json_text
from healthcheck.system.files import DATA


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """The names of a family of models: suffixes of architectures, a pattern for others, and model types."""

    suffixes: tuple[str, ...] = ()
    pattern: str = "(?!)"
    model_types: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownModels:
    """Names of models; a "name" is a model_type or an architecture.

    Attributes:
        with_mtp: names with layers for multi-token prediction; later releases add `with_mtp_later`.
        experts_by_default: model types whose configuration class has experts even if config.json has no number.
        own_encoding: architectures whose prompts vLLM builds in code; `own_modes` are values of --tokenizer-mode.
        brought_templates: model types for which vLLM has a chat template.
        byte_level: model types whose tokenizer transformers 5 builds for bytes itself.
        with_processor: model types whose images and audio a processor of transformers prepares.
        takes, makes: keys of a configuration for a part that handles images or audio, by "image" and "audio".
        diffusion: substrings of the architectures of pipelines.
        generating: suffixes of the architectures of models that generate text.
        families: the names of other models, by their family's name in lower case.
    """

    sources: Mapping[str, str]
    with_mtp: frozenset[str]
    with_mtp_later: frozenset[str]
    experts_by_default: frozenset[str]
    own_encoding: frozenset[str]
    own_modes: frozenset[str]
    brought_templates: frozenset[str]
    byte_level: frozenset[str]
    with_processor: frozenset[str]
    takes: Mapping[str, frozenset[str]]
    makes: Mapping[str, frozenset[str]]
    diffusion: tuple[str, ...]
    generating: tuple[str, ...]
    families: Mapping[str, Names]


@cache
def known_models() -> KnownModels:
    return json_text.load_as((DATA / "known-models.json").read_bytes(), KnownModels)
