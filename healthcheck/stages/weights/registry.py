"""The models that vLLM can serve, from the source of its registry and from the catalogue of releases."""

from __future__ import annotations

import ast
import importlib.metadata
import importlib.util
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from healthcheck.system import json_text
from healthcheck.system.files import DATA

CATALOGUE = DATA / "architectures.json"
REGISTRY_FILE = "model_executor/models/registry.py"
GENERATING = ("text_generation", "multimodal", "transformers_supported", "transformers_backend")
DRAFT = "speculative_decoding"


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """The model registry of a vLLM release, and its transformers release.

    Attributes:
        groups: the architectures of each group of the registry.
        removed: architectures, each with the last vLLM release that served it.
        plugins: architectures, each with the plug-in that serves it.
        transcription_only: architectures that serve /v1/audio/transcriptions but no chat.
        model_types: the types that AutoConfig knows without remote code, including vLLM's own classes.
        tokenizers: the tokenizer classes that AutoTokenizer knows without remote code.
        causal: architectures of transformers that generate text; vLLM's fallback may serve them.
    """

    vllm: str
    transformers: str
    groups: Mapping[str, frozenset[str]]
    removed: Mapping[str, str]
    plugins: Mapping[str, str]
    transcription_only: frozenset[str]
    model_types: frozenset[str]
    tokenizers: frozenset[str]
    causal: frozenset[str]

    def groups_of(self, architecture: str) -> tuple[str, ...]:
        """The groups of the registry that list the architecture."""
        return tuple(name for name, members in self.groups.items() if architecture in members)

    def generates(self, architecture: str) -> bool:
        """Whether vLLM generates text with the architecture."""
        return any(name in GENERATING for name in self.groups_of(architecture))


def parse_registry(source: str) -> tuple[dict[str, frozenset[str]], dict[str, str], dict[str, str]]:
    """Read groups, removed architectures and plug-ins from the syntax tree of a registry.py.

    Raises:
        SyntaxError: the source is not Python.
    """
    assigned = _assignments(ast.parse(source))
    found = {name: dict(_pairs(value)) for name, value in assigned if name.endswith("_MODELS")}
    removed, plugins = (
        {key: text for key, text in found.pop(name, {}).items() if text}
        for name in ("_PREVIOUSLY_SUPPORTED_MODELS", "_OOT_SUPPORTED_MODELS")
    )
    found.pop("_VLLM_MODELS", None)
    groups = {
        name.removeprefix("_").removesuffix("_MODELS").lower(): frozenset(found[name])
        for name in found
    }
    return groups, removed, plugins


def _assignments(tree: ast.Module) -> Iterator[tuple[str, ast.Dict]]:
    for node in tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(node.value, ast.Dict):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            yield ast.unparse(target), node.value


def _pairs(value: ast.Dict) -> Iterator[tuple[str, str]]:
    for key, item in zip(value.keys, value.values, strict=True):
        if isinstance(key, ast.Constant) and isinstance(key.value, str):
            text = (
                item.value if isinstance(item, ast.Constant) and isinstance(item.value, str) else ""
            )
            yield key.value, text


@cache
def releases() -> tuple[Release, ...]:
    """The catalogued releases, oldest first."""
    return json_text.load_as(CATALOGUE.read_bytes(), _Catalogue).releases


@dataclass(frozen=True, slots=True, kw_only=True)
class _Catalogue:
    releases: tuple[Release, ...]


@cache
def installed() -> Release | None:
    """The registry of the vLLM in the kit's environment, read without import; None if there is none.

    Model types and tokenizers, which the registry does not list, are those of the same release in the catalogue, or
    of the newest one.
    """
    spec = importlib.util.find_spec("vllm")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        try:
            groups, removed, plugins = parse_registry(
                (Path(folder) / REGISTRY_FILE).read_text("utf-8")
            )
            version = importlib.metadata.version("vllm").partition("+")[0]
        except (OSError, SyntaxError, ValueError, importlib.metadata.PackageNotFoundError):
            continue
        like = next((row for row in releases() if row.vllm == version), releases()[-1])
        return replace(like, vllm=version, groups=groups, removed=removed, plugins=plugins)
    return None
