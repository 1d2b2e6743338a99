"""The wheel contains what an installed kit reads, and nothing of a developer's checkout."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.support.template import ROOT

pytestmark = pytest.mark.process

DATA = "healthcheck/data/"
CATALOGUE = re.compile(r"vllm-[0-9.]+\.json")
"""The options of a release of vLLM, whose name is made from its version."""
FOR_SCRIPTS = {"recipes.json", "release-notes.json"}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    options = [
        "--quiet",
        "--no-deps",
        "--no-build-isolation",
        "--no-index",
        "-w",
        str(folder),
        str(ROOT),
    ]
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", *options], check=True, capture_output=True
    )
    (built,) = folder.iterdir()
    return built


@pytest.fixture(scope="module")
def files(wheel: Path) -> dict[str, int]:
    """The size of each file in the wheel, by its path."""
    with ZipFile(wheel) as archive:
        return {entry.filename: entry.file_size for entry in archive.infolist()}


def test_each_file_of_data_is_read_by_the_code(wheel: Path, files: dict[str, int]) -> None:
    with ZipFile(wheel) as archive:
        code = "\n".join(archive.read(name).decode() for name in files if name.endswith(".py"))
    data = {name.removeprefix(DATA) for name in files if name.startswith(DATA)}
    assert {"stacks.json", "failures.yaml", "vllm-0.23.0.json"} <= data
    assert not [name for name in data if name not in code and not CATALOGUE.fullmatch(name)]


def test_the_data_of_the_scripts_stays_in_the_repository(files: dict[str, int]) -> None:
    assert {path.name for path in (ROOT / "scripts" / "data").iterdir()} == FOR_SCRIPTS
    assert not {Path(name).name for name in files} & FOR_SCRIPTS
    roots = {name.partition("/")[0] for name in files}
    assert roots == {"healthcheck", next(root for root in roots if root.endswith(".dist-info"))}
