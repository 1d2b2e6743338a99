"""Manual options: environment variables ADAPTER_<KEY>, then adapter.toml. The environment wins."""

from __future__ import annotations

import difflib
import importlib.util
import json
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

LEAVE_TO_VLLM = "default"
VERIFIER = "npu-adapter"
"""A table of the same file, for the kit that verifies the repository."""
Value = str | int | float | bool | tuple[str, ...]


class SettingsError(Exception):
    """An unusable setting; the text is one line for the person who made it."""


@dataclass(frozen=True)
class Setting:
    """One manual value; `value` is None to leave the option to vLLM."""

    value: Value | None
    source: str


def _word(text: str) -> str:
    if not text or text.split() != [text]:
        raise ValueError
    return text


def _count(text: str) -> int:
    number = int(text.replace("_", ""))
    if number < 1:
        raise ValueError
    return number


def _fraction(text: str) -> float:
    number = float(text)
    if not 0 < number <= 1:
        raise ValueError
    return number


def _switch(text: str) -> bool:
    return {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}[
        text.lower()
    ]


def _object(text: str) -> str:
    return json.dumps({**json.loads(text)})


def _size(text: str) -> float:
    size = float(text)
    if not 0 <= size < float("inf"):
        raise ValueError
    return size


def _rank(text: str) -> int:
    rank = int(text)
    if rank < 0:
        raise ValueError
    return rank


def _words(text: str) -> tuple[str, ...]:
    return tuple(shlex.split(text))


@dataclass(frozen=True)
class Key:
    """The parser for the text of one setting, and the expected form, for an error."""

    read: Callable[[str], Value]
    expected: str


COUNT = Key(_count, "a whole number of at least 1")
SWITCH = Key(_switch, "true or false")
OBJECT = Key(_object, "a JSON object")
KEYS = {
    "dtype": Key(_word, "a vLLM dtype such as bfloat16, float16 or auto"),
    "tensor_parallel_size": COUNT,
    "max_model_len": COUNT,
    "max_num_seqs": COUNT,
    "trust_remote_code": SWITCH,
    "quantization": Key(_word, "a quantisation that vLLM knows, such as ascend"),
    "enable_expert_parallel": SWITCH,
    "data_parallel_size": COUNT,
    "max_num_batched_tokens": COUNT,
    "gpu_memory_utilization": Key(_fraction, "a number above 0, at most 1"),
    "limit_mm_per_prompt": OBJECT,
    "mm_processor_cache_gb": Key(_size, "a number of GiB"),
    "compilation_config": OBJECT,
    "additional_config": OBJECT,
    "speculative_config": OBJECT,
    "enforce_eager": SWITCH,
    "tokenizer_mode": Key(_word, "a mode that vLLM knows, such as deepseek_v4"),
    "mamba_ssm_cache_dtype": Key(_word, "a vLLM dtype such as float16 or auto"),
    "load_format": Key(_word, "a format that vLLM knows, such as safetensors"),
    "no_enable_prefix_caching": SWITCH,
    "multi_node": Key(_word, "ray, mp or data-parallel"),
    "nodes": Key(_words, "a list of addresses"),
    "network_interface": Key(_word, "the name of a network interface"),
    "node_rank": Key(_rank, "a whole number from 0"),
    "extra_args": Key(_words, "a list of vllm serve arguments"),
}
GROUP_KEYS = frozenset({"multi_node", "nodes", "network_interface", "node_rank"})
"""Those of several machines, which decide no option by themselves."""


def read_settings(environment: Mapping[str, str], file: Path) -> dict[str, Setting]:
    """The settings by key.

    Raises:
        SettingsError: the file is not TOML, a key is unknown, or a value does not fit its key.
    """
    settings = {key: _setting(key, text, file.name) for key, text in _from_file(file).items()}
    for key in KEYS:
        name = f"ADAPTER_{key.upper()}"
        if text := environment.get(name, "").strip():
            settings[key] = _setting(key, text, name)
    return settings


def unknown_variables(environment: Mapping[str, str]) -> tuple[str, ...]:
    """The variables that look like settings but are not, each with the nearest setting."""
    known = [f"ADAPTER_{key.upper()}" for key in KEYS]
    strange = sorted(
        name for name in environment if name.startswith("ADAPTER_") and name not in known
    )
    close = {name: difflib.get_close_matches(name, known, 1, 0.8) for name in strange}
    return tuple(name + "".join(f" (meant {meant}?)" for meant in close[name]) for name in strange)


def _setting(key: str, text: str, source: str) -> Setting:
    where = source if source.startswith("ADAPTER_") else f"{source}: {key}"
    if key not in KEYS:
        close = difflib.get_close_matches(key, KEYS, 1)
        known = f"did you mean {close[0]}?" if close else f"the keys are {', '.join(KEYS)}"
        raise SettingsError(f"{where} is not known; {known}")
    if text == LEAVE_TO_VLLM:
        return Setting(None, source)
    try:
        return Setting(KEYS[key].read(text), source)
    except (ValueError, KeyError, TypeError):
        raise SettingsError(f"{where} is {text!r}: expected {KEYS[key].expected}") from None


def _from_file(file: Path) -> dict[str, str]:
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise SettingsError(f"cannot read {file.name}: {error}") from None
    lines = (line.strip() for line in text.splitlines())
    if all(not line or line.startswith("#") for line in lines):
        return {}
    try:
        table = _toml().loads(text)
    except ValueError as error:
        raise SettingsError(f"{file.name}: {error}") from None
    return {key: _as_text(value) for key, value in table.items() if key != VERIFIER}


def _as_text(value: object) -> str:
    if isinstance(value, list) and all(isinstance(word, str) for word in value):
        return shlex.join(value)
    return value if isinstance(value, str) else json.dumps(value, default=str)


def _toml() -> ModuleType:
    """Python's own reader from 3.11 on; before that, the same reader as pip includes it."""
    found = (name for name in ("tomllib", "tomli", "pip") if importlib.util.find_spec(name))
    name = next(found, None)
    if name is None:
        raise SettingsError("reading adapter.toml with Python 3.10 needs tomli: pip install tomli")
    return importlib.import_module("pip._vendor.tomli" if name == "pip" else name)
