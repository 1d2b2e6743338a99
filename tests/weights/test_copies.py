"""weights/complete: a shard that a browser or a file manager saved under the name of a copy."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from tests.weights import folders
from tests.weights.folders import findings, header, said, sharded

CHECK = "weights/complete"
SECOND = "model-00002-of-00003.safetensors"
judge = partial(folders.judge, only=CHECK)


def renamed(folder: Path, name: str) -> Path:
    (folder / SECOND).rename(folder / name)
    return folder


def without_index(folder: Path) -> Path:
    (folder / "model.safetensors.index.json").unlink()
    return folder


@pytest.mark.process
@pytest.mark.parametrize("change", [lambda folder: folder, without_index], ids=["index", "numbers"])
@pytest.mark.parametrize(
    "name",
    [
        "model-00002-of-00003 (1).safetensors",
        "model-00002-of-00003 - Copy.safetensors",
        "model-00002-of-00003 - 副本.safetensors",
        "Copy of model-00002-of-00003.safetensors",
        "model-00002-of-00003.safetensors.1",
    ],
)
def test_the_repair_renames_the_copy(
    name: str, change: Callable[[Path], Path], tmp_path: Path
) -> None:
    folder = renamed(change(sharded(tmp_path / "w")), name)
    (found,) = judge(folder)[CHECK].findings
    assert found.command == f"mv -- '{name}' '{SECOND}'"
    subprocess.run(["bash", "-c", found.command], cwd=folder, check=True)
    assert findings(judge(folder)) == {}


def test_a_file_of_any_name_counts_by_its_tensors(tmp_path: Path) -> None:
    folder = renamed(sharded(tmp_path / "w"), "model (1).safetensors")
    assert f"mv -- 'model (1).safetensors' '{SECOND}'" in said(judge(folder), CHECK)


def test_what_is_not_there_has_to_be_downloaded(tmp_path: Path) -> None:
    folder = renamed(sharded(tmp_path / "w"), "it's a copy.safetensors")
    (folder / "model-00003-of-00003.safetensors").unlink()
    words = said(judge(folder), CHECK)
    assert (
        "rename the files, and download model-00003-of-00003.safetensors: "
        f"mv -- 'it'\\''s a copy.safetensors' '{SECOND}'"
    ) in words


@pytest.mark.parametrize(
    "tensors", [{"layers.9.weight": ("BF16", (8, 8))}, None], ids=["others", "cut off"]
)
def test_a_copy_of_something_else_is_left_alone(tensors: dict | None, tmp_path: Path) -> None:
    folder, name = sharded(tmp_path / "w"), "model-00002-of-00003 (1).safetensors"
    renamed(folder, name)
    if tensors is None:
        (folder / name).write_bytes(header({"layers.2.weight": ("BF16", (8, 8))})[0])
    else:
        folders.safetensors(folder / name, tensors)
    words = said(judge(folder), CHECK)
    assert "download the missing files" in words
    assert "mv --" not in words
