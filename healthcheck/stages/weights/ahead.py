"""Gathers configuration and announced size of weights that are not on this machine yet."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import cast

from healthcheck.errors import Blocked, UsageError
from healthcheck.stages.weights.documents import child, integer
from healthcheck.stages.weights.facts import MAX_INDEX_BYTES
from healthcheck.stages.weights.inventory import MAIN_INDEX
from healthcheck.stages.weights.records import Weights
from healthcheck.text.messages import joined, msg

CONFIG = "config.json"
BESIDE = (MAIN_INDEX, "generation_config.json", "quant_model_description.json", "params.json")
CLIENTS = ("huggingface_hub", "modelscope")


def gather(config: Path, folder: Path) -> None:
    """Copy config.json, and the files next to it that describe the weights, into a folder in place of the weights.

    Raises:
        UsageError: `config` is not a file.
    """
    if not config.is_file():
        raise UsageError(
            msg(
                "--weights-config {config} is not a file: name the config.json of the model",
                config=config,
            )
        )
    shutil.copyfile(config, folder / CONFIG)
    for name in BESIDE:
        beside = config.with_name(name)
        if beside.is_file() and beside.stat().st_size <= MAX_INDEX_BYTES:
            shutil.copyfile(beside, folder / name)


def download(model: str, folder: Path) -> None:
    """Download these files of a model with an installed client of a model hub.

    Raises:
        UsageError: no client is installed.
        Blocked: the download fails, or the model has no config.json.
    """
    fetch = _client()
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            fetch(model, local_dir=str(folder), allow_patterns=[CONFIG, *BESIDE])
    except Exception as error:  # each client has its own exceptions
        why = msg(
            "the configuration of {model} cannot be downloaded: {split}",
            model=model,
            split=" ".join(str(error).split()),
        )
        raise Blocked(why) from error
    if not (folder / CONFIG).is_file():
        raise Blocked(msg("{model} has no {config} at its hub", model=model, config=CONFIG))


def _client() -> Callable[..., object]:
    for name in CLIENTS:
        if importlib.util.find_spec(name):
            return cast("Callable[..., object]", importlib.import_module(name).snapshot_download)
    why = msg(
        "--model-id needs one of {clients}, and neither is installed: download the model's {config} "
        "and {main_index} yourself, and give --weights-config {config}",
        clients=joined(" and ", CLIENTS),
        config=CONFIG,
        main_index=MAIN_INDEX,
    )
    raise UsageError(why)


def announced(weights: Weights) -> Weights:
    """Set `announced_bytes` to the size in the index, 0 without an index."""
    index = next((index for index in weights.indices if index.name == MAIN_INDEX), None)
    size = integer(child(index.value, "metadata").get("total_size")) if index else None
    return replace(weights, announced_bytes=max(size or 0, 0))
