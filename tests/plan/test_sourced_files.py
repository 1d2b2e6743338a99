"""A sourced file that overwrites a variable is named in the finding, and its line is the repair."""

from __future__ import annotations

from pathlib import Path

import pytest

from healthcheck.core.records import Finding, Level
from tests.plan.corpus import case, sh
from tests.support.plans import judged, write

pytestmark = pytest.mark.process
SERVE = 'exec vllm serve "$MODEL_PATH" --host 0.0.0.0 --port 8000'
HERE = '"$(dirname "$0")/settings.env"'
SETTINGS = "# the model\n\nPORT=8000\n"


def finding(root: Path, weights: Path, check: str, script: str, settings: str) -> Finding:
    files = {"settings.env": settings}
    results = judged(write(case("sourced", sh(script), files=files), root), weights)[1]
    (found,) = [each for each in results[check].findings if each.level is not Level.NOTE]
    return found


@pytest.mark.parametrize("path", ["./settings.env", HERE])
def test_the_line_that_overwrites_model_path_is_removed(
    path: str, tmp_path: Path, weights: Path
) -> None:
    found = finding(
        tmp_path / "r",
        weights,
        "plan/model-path",
        f". {path}\n{SERVE}",
        f"{SETTINGS}MODEL_PATH=/data/x\n",
    )
    assert found.where == "settings.env:4"
    assert found.fix == "in settings.env:4 remove the line `MODEL_PATH=/data/x`"
    (edit,) = found.edits
    assert (edit.file, edit.line, edit.old, edit.new) == (
        "settings.env",
        4,
        "MODEL_PATH=/data/x\n",
        "",
    )


def test_a_file_that_a_sourced_file_sources_is_found(tmp_path: Path, weights: Path) -> None:
    files = {"env.sh": ". ./settings.env\n", "settings.env": "MODEL_PATH=/data/x\n"}
    root = write(case("sourced", sh(f". ./env.sh\n{SERVE}"), files=files), tmp_path / "r")
    (found,) = judged(root, weights)[1]["plan/model-path"].findings
    assert found.where == "settings.env:1"


def test_a_test_of_an_overwritten_model_path_names_the_file(tmp_path: Path, weights: Path) -> None:
    script = (
        f'. ./settings.env\n[ -d "$MODEL_PATH" ] || {{ echo "no $MODEL_PATH"; exit 1; }}\n{SERVE}'
    )
    found = finding(
        tmp_path / "r", weights, "plan/starts-server", script, f"{SETTINGS}MODEL_PATH=/data/x\n"
    )
    assert found.where == "settings.env:4"
    assert found.fix == (
        "remove line 4 of settings.env: it overwrites the MODEL_PATH that the service sets"
    )


@pytest.mark.parametrize(
    ("check", "setting"),
    [
        ("plan/engine-variables", "VLLM_HTTP_TIMEOUT_KEEP_ALIVE=5s"),
        ("plan/network-interfaces", "GLOO_SOCKET_IFNAME=enp23s0f3"),
        ("plan/network-interfaces", "GLOO_SOCKET_IFNAME=eth0"),
        ("plan/no-api-key", "VLLM_API_KEY=anything"),
        ("plan/ascend-environment", "VLLM_PLUGINS=mine"),
    ],
)
def test_other_variables_of_a_sourced_file_are_placed_there(
    check: str, setting: str, tmp_path: Path, weights: Path
) -> None:
    found = finding(
        tmp_path / "r",
        weights,
        check,
        f"set -a\n. ./settings.env\nset +a\n{SERVE}",
        f"{SETTINGS}{setting}\n",
    )
    assert found.where == "settings.env:4"
    assert all(edit.file == "settings.env" for edit in found.edits)
