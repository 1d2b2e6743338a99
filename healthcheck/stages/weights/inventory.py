"""Classifies the files of a weights folder by name: weights of some format, or remains of a download."""

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
"""Files with the suffix of weights that are not weights; vLLM itself skips the first ones."""
PARTIAL = re.compile(
    r"\.(incomplete|aria2|part|partial|crdownload|download|downloading|tmp|temp|filepart|!ut|!qb|xltd|td|bc!)"
    r"(\.\d+)?$|\.part\d+$|\.tmp\.\w+$|^\._____temp$|\.st\.tmp$",
    re.IGNORECASE,
)
MAIN_INDEX = "model.safetensors.index.json"
SHARD = re.compile(
    r"^(?P<stem>.*?)-?(?P<number>\d{4,6})-of-(?P<count>\d{4,6})(?P<suffix>\.[a-z]+)$"
)


def format_of(name: str) -> Format | None:
    """The format of a weights file by its name; None for any other file."""
    base = name.rpartition("/")[2].lower()
    if base in NO_WEIGHTS or base.startswith("rng_state"):
        return None
    return SUFFIXES.get("." + base.rpartition(".")[2]) if "." in base else None


def is_partial(name: str) -> bool:
    """Whether download programs use such a name for an unfinished file."""
    return any(PARTIAL.search(part) for part in name.split("/"))


def unfinished_target(name: str) -> str:
    """The final name of a partial download, derived from its present name."""
    folder, _, base = name.rpartition("/")
    target = PARTIAL.sub("", base)
    return f"{folder}/{target}" if folder else target


def of_format(entries: Iterable[Entry], *formats: Format, top: bool = True) -> tuple[Entry, ...]:
    """The weights of these formats: at the top level, or at any depth without `top`."""
    return tuple(
        entry
        for entry in entries
        if format_of(entry.name) in formats
        and not is_partial(entry.name)
        and (entry.at_top or not top)
    )


def missing_numbers(names: Iterable[str]) -> dict[str, list[str]]:
    """Missing numbers in series of shards: the pattern of each series with the missing names."""
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
