# ruff: noqa: INP001 - a folder of programs, no package
"""Reads the entries of healthcheck/data/architectures.json from vLLM and transformers; add_release.py writes them.

The folders are those of the packages (they hold `model_executor/` and `models/auto/`), from an unpacked wheel.
Nothing is imported: the syntax trees have the data.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterable, Iterator
from pathlib import Path

from packaging.version import Version

from healthcheck.stages.weights.registry import REGISTRY_FILE, parse_registry

CAUSAL = ("MODEL_FOR_CAUSAL_LM_MAPPING_NAMES", "MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES")


Release = dict[str, object]


def text(releases: Iterable[Release]) -> str:
    data = {
        "source": "the registry.py, config.py and model modules of each vLLM release, and the auto mappings of the "
        "transformers release that goes with it; written by scripts/make_architecture_catalogue.py",
        "releases": list(releases),
    }
    return json.dumps(data, indent=1, sort_keys=True) + "\n"


def with_releases(known: Iterable[Release], new: Iterable[Release]) -> list[Release]:
    """The releases, oldest first; a new one replaces a known one of its version."""
    rows = {str(release["vllm"]): release for release in (*known, *new)}
    return [rows[version] for version in sorted(rows, key=Version)]


def release(vllm: Path, transformers: Path) -> Release:
    """The entry of a release, from the folders of the two packages, without their versions."""
    auto = transformers / "models" / "auto"
    source = (vllm / REGISTRY_FILE).read_text("utf-8")
    groups, removed, plugins = parse_registry(source)
    types = keys(auto.glob("*.py"), "CONFIG_MAPPING_NAMES") | own_configurations(vllm)
    tokenizers = strings(auto / "tokenization_auto.py", "TOKENIZER_MAPPING_NAMES")
    return {
        "groups": {name: sorted(members) for name, members in groups.items()},
        "removed": removed,
        "plugins": plugins,
        "transcription_only": sorted(transcription_only(vllm, source)),
        "model_types": sorted(types),
        "tokenizers": sorted(
            word for word in tokenizers if word[:1].isupper() and "Tokeni" in word
        ),
        "causal": sorted(
            set().union(*(strings(auto / "modeling_auto.py", name) for name in CAUSAL))
        ),
    }


def mappings(path: Path, name: str) -> Iterator[ast.AST]:
    """The values that are assigned to a name, or passed to its update method."""
    for node in ast.parse(path.read_text("utf-8")).body:
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if any(isinstance(target, ast.Name) and target.id == name for target in targets):
                yield node.value
        elif isinstance(node, ast.Expr) and ast.unparse(node).startswith(f"{name}.update("):
            yield node.value


def keys(paths: Iterator[Path], name: str) -> set[str]:
    found: set[str] = set()
    for value in (value for path in paths for value in mappings(path, name)):
        for node in ast.walk(value):
            first = (
                node.elts[:1]
                if isinstance(node, ast.Tuple)
                else node.keys
                if isinstance(node, ast.Dict)
                else []
            )
            found |= {
                item.value
                for item in first
                if isinstance(item, ast.Constant) and isinstance(item.value, str)
            }
    return found


def strings(path: Path, name: str) -> set[str]:
    nodes = (node for value in mappings(path, name) for node in ast.walk(value))
    return {
        node.value
        for node in nodes
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }


def own_configurations(vllm: Path) -> set[str]:
    """The model types for which vLLM has its own configuration class."""
    path = vllm / "transformers_utils" / "config.py"
    calls = (node for value in mappings(path, "_CONFIG_REGISTRY") for node in ast.walk(value))
    return {
        key.arg for node in calls if isinstance(node, ast.Call) for key in node.keywords if key.arg
    }


def transcription_only(vllm: Path, registry: str) -> set[str]:
    """The architectures whose class only transcribes."""
    classes: set[str] = set()
    for path in (vllm / "model_executor" / "models").glob("*.py"):
        text = path.read_text("utf-8")
        if "supports_transcription_only = True" in text:
            for node in ast.walk(ast.parse(text)):
                if isinstance(node, ast.ClassDef) and any(
                    ast.unparse(line) == "supports_transcription_only = True" for line in node.body
                ):
                    classes.add(node.name)
    found: set[str] = set()
    for node in ast.walk(ast.parse(registry)):
        if isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if isinstance(key, ast.Constant) and isinstance(value, ast.Tuple):
                    name = value.elts[-1]
                    if isinstance(name, ast.Constant) and name.value in classes:
                        found.add(str(key.value))
    return found
