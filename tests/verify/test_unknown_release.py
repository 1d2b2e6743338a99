"""A release without a row in the version matrix: nothing that depends on the row is a verdict."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.support.repositories import repository
from tests.support.verifications import WEIGHTS, kit

pytestmark = pytest.mark.process

GOOD = '#!/bin/bash\nexec vllm serve "$MODEL_PATH" --host 0.0.0.0 --port {port} {more}\n'
BY_ROW = {
    "plan/options-suit-chip", "plan/options-suit-weights", "plan/supported-model", "repo/requirements-stack",
    "plan/flags", "plan/fits-hardware", "plan/engine-variables", "plan/no-missing-imports",
}  # fmt: skip
DOUBT = "the version matrix has no row of vllm-ascend 0.99.0: judged as 0.30.0rc2, the nearest of"


def verified(
    root: Path, *, port: int = 8000, more: str = "", stack: str
) -> tuple[int, dict[str, Any]]:
    files = {"deploy.sh": GOOD.format(port=port, more=more), "requirements.txt": "pandas==2.3.3\n"}
    place = repository(root, files)
    words = kit(
        "verify", place, "--weights", WEIGHTS, "--until", "weights", "--stack", stack, "--json", "-"
    )
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    return done.returncode, json.loads(done.stdout)


def test_a_good_repository_is_inconclusive_with_the_reason(tmp_path: Path) -> None:
    status, report = verified(tmp_path / "r", stack="0.99.0")
    unsettled = {check["id"]: check["detail"] for check in report["checks"] if not check["settled"]}
    assert (status, report["verdict"], set(unsettled)) == (3, "inconclusive", BY_ROW)
    assert all(DOUBT in detail for detail in unsettled.values())
    assert verified(tmp_path / "r", stack="v0.30.0rc2")[1]["verdict"] != "inconclusive"


@pytest.mark.parametrize(
    ("port", "more", "status"),
    [(8001, "", 1), (8000, "--no-such-option", 3)],
    ids=["in-any-row", "by-the-row"],
)
def test_what_fails_in_any_row_still_fails(
    port: int, more: str, status: int, tmp_path: Path
) -> None:
    assert verified(tmp_path / "r", port=port, more=more, stack="0.99.0")[0] == status


def test_what_is_no_release_is_wrong_usage(tmp_path: Path) -> None:
    words = kit(
        "verify",
        repository(tmp_path / "r", {"deploy.sh": GOOD}),
        "--until",
        "repo",
        "--stack",
        "0.23.O",
    )
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "did you mean 0.23.0" in done.stderr
