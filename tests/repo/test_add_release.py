"""scripts/add_release.py, on made-up releases in a folder and on a real one in the package index."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from healthcheck.ascend import stacks
from healthcheck.stages.plan.importable import read
from tests.repo import releases
from tests.repo.releases import sdist, wheel
from tests.support.template import ROOT

pytestmark = pytest.mark.slow

FILES = (
    "stacks.json", "architectures.json", "schemes.json", "additional-config.json", "support-matrix.json",
    "vllm-0.33.0.json", "importable.json",
)  # fmt: skip
SCRIPT = ROOT / "scripts" / "add_release.py"
DATA = ROOT / "healthcheck" / "data"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an index of releases, the data before, and the data after one of them was added."""
    folder = tmp_path_factory.mktemp("releases")
    index, before = folder / "index", folder / "before"
    index.mkdir()
    before.mkdir()
    sdist(
        index,
        "vllm-ascend",
        "9.1.0rc1",
        {**releases.ASCEND, **releases.documented("9.0.0")},
        releases.REQUIRES,
    )
    sdist(
        index,
        "vllm",
        "9.1.0",
        releases.VLLM,
        ("torch==2.99", "numba==0.65.0", "six>1; python_version>'3.11'"),
    )
    wheel(index, "transformers", "6.1.0", releases.TRANSFORMERS)
    for name in FILES:
        shutil.copy(DATA / name, before)
    shutil.copy(ROOT / "scripts" / "data" / "release-notes.json", before)
    shutil.copytree(before, folder / "after")
    done = added(folder / "after", index, "9.1.0rc1")
    assert done.returncode == 0, done.stderr
    (folder / "printed").write_text(done.stdout)
    return folder


@pytest.fixture
def index(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made / "index", tmp_path / "index"))


@pytest.fixture
def data(made: Path, tmp_path: Path) -> Path:
    """The data before."""
    return Path(shutil.copytree(made / "before", tmp_path / "data"))


@pytest.fixture
def after(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made / "after", tmp_path / "after"))


def added(
    data: Path, index: Path | None, *words: str, **variables: str
) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PIP_CONFIG_FILE": os.devnull, **variables}
    if index:
        environment |= {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(index)}
    folders = ["--data", data, "--notes", data / "release-notes.json"]
    command = [sys.executable, SCRIPT, *folders, "--engine-python", sys.executable, *words]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def contents(data: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in data.iterdir()}


def matrix(data: Path) -> dict[str, Any]:
    return json.loads((data / "stacks.json").read_bytes())


def test_a_release_becomes_a_row_and_its_vllm_is_catalogued(made: Path) -> None:
    data, printed = made / "after", (made / "printed").read_text()
    now = matrix(data)
    assert now["rows"][0] == {
        "vllm_ascend": "9.1.0rc1", "vllm": ["9.1.0"], "python": ">=3.10", "cann": "9.9.0",
        "torch": "2.90.0", "torch_npu": "2.90.0", "triton_ascend": "3.9.0",
        "requires": {"compressed-tensors": ">=0.11.0", "ray": ">=2.47.1,<=2.48.0", "transformers": "==6.1.0"},
        "variables": ["HCCL_SO_PATH", "VLLM_ASCEND_ONE"],
        "accepts": {"VLLM_ASCEND_ONE": {"takes": ["bit", "int", "negative"]}}, "documented": False, "commit": "0123abcd9",
        "released": None, "restricted_to": [],
    }  # fmt: skip
    assert now["rows"][1:] == json.loads((DATA / "stacks.json").read_bytes())["rows"]
    assert next(iter(now["vllm_requires"].items())) == ("9.1.0", {"numba": "==0.65.0"})
    catalogue = json.loads((data / "vllm-9.1.0.json").read_bytes())
    assert ["--enable-warp"] in [option["flags"] for option in catalogue["options"]]
    assert catalogue["variables"] == {
        "VLLM_WARP": {"choices": ["fast", "slow"]},
        "VLLM_WARP_PATH": {},
    }
    last = json.loads((data / "architectures.json").read_bytes())["releases"][-1]
    assert (last["vllm"], last["transformers"], last["model_types"]) == ("9.1.0", "6.1.0", ["warp"])
    schemes = json.loads((data / "schemes.json").read_bytes())["releases"][0]
    assert (schemes["vllm_ascend"], schemes["methods"]) == ("9.1.0rc1", ["ascend", "mxfp8"])
    importable = read((data / "importable.json").read_text("ascii"))
    assert importable["vllm"].having("vllm.utils.argparse_utils", "FlexibleArgumentParser") >= {
        "0.33.0",
        "9.1.0",
    }
    assert "9.1.0" not in importable["vllm"].having("vllm.entrypoints.llm")
    assert importable["vllm_ascend"].having("vllm_ascend.utils") >= {"0.30.0rc2", "9.1.0rc1"}
    for words in (
        "9.1.0rc1: new row",
        'cann="9.9.0"',
        "VLLM_ASCEND_ONE",
        "options + --enable-warp",
    ):
        assert words in printed
    assert not (made / "index" / "setup-py-ran").exists()


def test_the_second_time_nothing_changes(after: Path, index: Path) -> None:
    before = contents(after)
    again = added(after, index, "9.1.0rc1", "vllm==9.1.0")
    assert (again.returncode, again.stdout) == (0, "vllm-ascend 9.1.0rc1: no change\n")
    assert contents(after) == before


def test_the_published_table_of_the_newest_release_comes_first(after: Path, index: Path) -> None:
    page = {**releases.ASCEND, **releases.documented("9.1.0rc1", "9.0.0")}
    sdist(index, "vllm-ascend", "9.2.0rc1", page, releases.REQUIRES)
    done = added(after, index, "9.1.0rc1")
    assert '+ cann="9.9.1"' in done.stdout
    assert '- cann="9.9.0"' in done.stdout
    row = matrix(after)["rows"][0]
    assert (row["documented"], row["cann"], row["python"], row["torch_npu"]) == (
        True, "9.9.1", ">=3.10,<3.13", "2.90.0.post1",
    )  # fmt: skip
    assert row["triton_ascend"] == ""
    assert "9.2.0rc1" in matrix(after)["source"]


def test_what_a_wheel_alone_does_not_say_is_asked_or_null(after: Path, index: Path) -> None:
    package = {
        path: text for path, text in releases.ASCEND.items() if path.startswith("vllm_ascend/")
    }
    wheel(index, "vllm-ascend", "9.3.0", package, releases.REQUIRES)
    unknown = added(after, index, "9.3.0")
    assert unknown.returncode == 1
    assert "give it with --vllm" in unknown.stderr
    assert added(after, index, "9.3.0", "--vllm", "9.1.0").returncode == 0
    row = matrix(after)["rows"][0]
    assert (row["vllm"], row["cann"], row["documented"]) == (["9.1.0"], None, None)


def test_a_release_that_is_not_there_changes_nothing(data: Path, index: Path) -> None:
    before = contents(data)
    done = added(data, index, "9.1.0rc1", "9.9.9")
    assert done.returncode == 1
    assert "no vllm-ascend 9.9.9; the newest are 9.1.0rc1" in done.stderr
    assert "Traceback" not in done.stderr
    assert contents(data) == before


def test_without_a_network_it_says_so(data: Path) -> None:
    nobody = {
        "PIP_INDEX_URL": "http://127.0.0.1:9/simple",
        "PIP_RETRIES": "1",
        "PIP_FIND_LINKS": "",
    }
    done = added(data, None, "0.23.0", **nobody)
    assert done.returncode == 1
    assert "no network" in done.stderr


@pytest.mark.parametrize(
    ("word", "says"),
    [
        ("0.23.O", "is not a release"),
        ("numpy==1.0", "numpy is neither"),
        ("vllm==", "is not a release"),
    ],
)
def test_wrong_usage(word: str, says: str, data: Path) -> None:
    done = added(data, None, word)
    assert done.returncode == 2
    assert says in done.stderr


def test_without_a_python_for_vllm_the_rest_is_added(
    data: Path, index: Path, tmp_path: Path
) -> None:
    done = added(data, index, "vllm==9.1.0", "--engine-python", str(tmp_path / "none"))
    assert done.returncode == 0
    assert "no catalogue of options" in done.stdout
    assert not (data / "vllm-9.1.0.json").exists()
    assert "9.1.0" in matrix(data)["vllm_requires"]


def test_the_default_row_is_what_its_release_says(data: Path) -> None:
    """Downloads two releases from the package index."""
    before = matrix(data)["rows"]
    environment = {name: os.environ[name] for name in ("PIP_CONFIG_FILE",) if name in os.environ}
    done = added(data, None, stacks.DEFAULT, **environment)
    assert (done.returncode, done.stdout) == (0, f"vllm-ascend {stacks.DEFAULT}: no change\n"), (
        done.stderr
    )
    assert matrix(data)["rows"] == before
