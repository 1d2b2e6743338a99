"""Determines the kind of a model from its configuration: whether it generates text, and from which inputs."""

from __future__ import annotations

import enum
import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass

from healthcheck.core.records import JsonValue
from healthcheck.stages.weights.documents import JsonObject, text_of, words
from healthcheck.stages.weights.known_models import known_models
from healthcheck.stages.weights.registry import DRAFT, Release
from healthcheck.text.messages import msg


class Family(enum.Enum):
    """The kinds of models, as messages name them."""

    GENERATES = msg("a model that generates text")
    EMBEDS = msg("an embedding model")
    REWARDS = msg("a reward model")
    CLASSIFIES = msg("a classifier (a reward or ranking model may be one)")
    RANKS = msg("a ranking model")
    ENCODES = msg("an encoder without a language model head")
    ENCODES_DECODES = msg("an encoder-decoder model")
    TRANSCRIBES = msg("a speech recognition model")
    SPEAKS = msg("a speech synthesis model")
    DIFFUSES = msg("an image or video generation pipeline")
    SEES = msg("a vision model")
    DRAFTS = msg("a draft model for speculative decoding")
    ADAPTS = msg("an adapter (LoRA) without its base model")
    UNKNOWN = msg("a model of unknown kind")


@dataclass(frozen=True, slots=True, kw_only=True)
class Nature:
    """The kind of a model.

    Attributes:
        takes: its inputs: "text", "image", "audio".
        makes: its outputs: "text", "image", "audio".
        because: the evidence, quoted.
        sure: False for a guess from a name.
    """

    family: Family
    takes: frozenset[str] = frozenset({"text"})
    makes: frozenset[str] = frozenset({"text"})
    because: str = ""
    sure: bool = True


def architecture_nature(config: JsonObject, releases: tuple[Release, ...]) -> Nature:
    """Determine the kind of a model from its config.json. `releases` are searched in order."""
    architectures = words(config.get("architectures"))
    model_type = text_of(config.get("model_type"))
    named = msg("model_type {model_type}", model_type=repr(model_type))
    if architectures:
        named = msg("architectures {architectures}", architectures=list(architectures[:3]))
    for architecture in architectures:
        release = next((each for each in releases if each.groups_of(architecture)), None)
        if release:
            because = msg("{named}, which vLLM {vllm} knows", named=named, vllm=release.vllm)
            return _registered(config, architecture, release, because)
    family = _family_by_name(architectures[0] if architectures else "", model_type)
    if family is not Family.GENERATES:
        return Nature(family=family, because=named, sure=family is not Family.UNKNOWN)
    takes, makes = modalities(config)
    return Nature(family=family, takes=takes, makes=makes, because=named, sure=False)


def _registered(config: JsonObject, architecture: str, release: Release, because: str) -> Nature:
    groups = release.groups_of(architecture)
    if architecture in release.transcription_only:
        return Nature(family=Family.TRANSCRIBES, takes=frozenset({"audio"}), because=because)
    if DRAFT in groups:
        return Nature(family=Family.DRAFTS, because=because)
    if not release.generates(architecture):
        return Nature(family=_pooling(groups, architecture), because=because)
    if "multimodal" not in groups and not architecture.endswith("ForConditionalGeneration"):
        return Nature(family=Family.GENERATES, because=because)
    takes, makes = modalities(config)
    guessed = "multimodal" in groups and takes == {"text"}
    if guessed:
        takes = frozenset({"text", _modality_by_name(architecture)})
    return Nature(
        family=Family.GENERATES, takes=takes, makes=makes, because=because, sure=not guessed
    )


def _pooling(groups: tuple[str, ...], architecture: str) -> Family:
    by_name = _family_by_name(architecture, "")
    if by_name not in {Family.UNKNOWN, Family.GENERATES}:
        return by_name
    if "reward" in groups:
        return Family.REWARDS
    return Family.CLASSIFIES if groups[0].endswith("classification") else Family.EMBEDS


def _modality_by_name(architecture: str) -> str:
    lower = architecture.lower()
    return (
        "audio"
        if any(word in lower for word in ("audio", "asr", "ultravox", "voxtral", "speech"))
        else "image"
    )


def _family_by_name(architecture: str, model_type: str) -> Family:
    known = known_models()
    if any(word in architecture for word in known.diffusion):
        return Family.DIFFUSES
    by_suffix = (
        name for name, names in known.families.items() if architecture.endswith(names.suffixes)
    )
    by_pattern = (
        name for name, names in known.families.items() if re.search(names.pattern, architecture)
    )
    by_type = (name for name, names in known.families.items() if model_type in names.model_types)
    for name in itertools.chain(by_suffix, by_pattern, by_type):
        return Family[name.upper()]
    if architecture.endswith(known.generating):
        return Family.GENERATES
    return Family.EMBEDS if architecture.endswith("Model") else Family.UNKNOWN


def modalities(config: JsonObject) -> tuple[frozenset[str], frozenset[str]]:
    """The inputs and outputs of a model, from the sub-models in its configuration."""
    keys, known = set(_keys(config, 0)), known_models()
    takes, makes = (
        {kind for kind, names in by.items() if keys & names} for by in (known.takes, known.makes)
    )
    return frozenset({"text"} | takes), frozenset({"text"} | makes)


def _keys(value: JsonValue, depth: int) -> Iterator[str]:
    if isinstance(value, dict) and depth < 4:
        for key, item in value.items():
            if item not in (None, False, "", {}, []):
                yield key
                yield from _keys(item, depth + 1)
