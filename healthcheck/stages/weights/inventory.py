"""Classifies the files of a weights folder by their names: loaded by an engine, or remains of a download."""

from __future__ import annotations

import enum
import re
from collections.abc import Iterable

from healthcheck.stages.weights.folder import Entry
from healthcheck.text.messages import msg


class Format(enum.Enum):
    """How weights are stored."""

    SAFETENSORS = "safetensors"
    PICKLE = "pickle"
    GGUF = "GGUF"
    FOREIGN = msg("a format of another framework")


SUFFIXES = {
    ".safetensors": Format.SAFETENSORS,
    ".bin": Format.PICKLE, ".pt": Format.PICKLE, ".pth": Format.PICKLE, ".ckpt": Format.PICKLE,
    ".pkl": Format.PICKLE, ".pickle": Format.PICKLE,
    ".gguf": Format.GGUF,
    ".h5": Format.FOREIGN, ".msgpack": Format.FOREIGN, ".onnx": Format.FOREIGN, ".om": Format.FOREIGN,
    ".mindir": Format.FOREIGN, ".ot": Format.FOREIGN, ".npz": Format.FOREIGN, ".tflite": Format.FOREIGN,
}  # fmt: skip
NO_WEIGHTS = (
    "training_args.bin", "optimizer.bin", "optimizer.pt", "scheduler.bin", "scheduler.pt", "scaler.pt",
    "tokenizer.bin", "rng_state.pth", "tokenizer.pkl", "adapter_model.bin", "adapter_model.safetensors",
)  # fmt: skip
"""Files that have a weights suffix and are none; the first ones are those that vLLM itself leaves out."""
PARTIAL = re.compile(
    r"\.(incomplete|aria2|part|partial|crdownload|download|downloading|tmp|temp|filepart|!ut|!qb|xltd|td|bc!)"
    r"(\.\d+)?$|\.part\d+$|\.tmp\.\w+$|^\._____temp$|\.st\.tmp$",
    re.IGNORECASE,
)
MAIN_INDEX = "model.safetensors.index.json"
SHARD = re.compile(r"^(?P<stem>.*?)-?(?P<number>\d{4,6})-of-(?P<count>\d{4,6})(?P<suffix>\.[a-z]+)$")


def format_of(name: str) -> Format | None:
    """The format of a weights file by its name; None for any other file."""
    base = name.rpartition("/")[2].lower()
    if base in NO_WEIGHTS or base.startswith("rng_state"):
        return None
    return SUFFIXES.get("." + base.rpartition(".")[2]) if "." in base else None


def is_partial(name: str) -> bool:
    """Whether the name is one that download programs give to an unfinished file."""
    return any(PARTIAL.search(part) for part in name.split("/"))


def unfinished_target(name: str) -> str:
    """The name that a partial download was to have, as far as its own name says."""
    folder, _, base = name.rpartition("/")
    target = PARTIAL.sub("", base)
    return f"{folder}/{target}" if folder else target


def of_format(entries: Iterable[Entry], *formats: Format, top: bool = True) -> tuple[Entry, ...]:
    """The weights of these formats: those in the folder itself, or those at any depth."""
    return tuple(
        entry
        for entry in entries
        if format_of(entry.name) in formats and not is_partial(entry.name) and (entry.at_top or not top)
    )


def missing_numbers(names: Iterable[str]) -> dict[str, list[str]]:
    """Numbered shards that a set of names leaves out: pattern → the names that are not there."""
    series: dict[tuple[str, str, str, int], set[int]] = {}
    for found in filter(None, map(SHARD.match, names)):
        if int(found["count"]) <= 100_000:
            key = (found["stem"], found["count"], found["suffix"], len(found["number"]))
            series.setdefault(key, set()).add(int(found["number"]))
    missing: dict[str, list[str]] = {}
    for (stem, count, suffix, digits), numbers in series.items():
        first = 0 if 0 in numbers else 1
        lacking = sorted(set(range(first, int(count) + first)) - numbers)
        if lacking:
            names_of = [f"{stem}-{number:0{digits}d}-of-{count}{suffix}" for number in lacking]
            missing[f"{stem}-*-of-{count}{suffix}"] = names_of
    return missing
