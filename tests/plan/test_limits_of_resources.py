"""What a script may do with ulimit: what every container allows works, and what none or only some allow does not."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from healthcheck.sandbox import box
from healthcheck.sandbox.job import Limits, Mode
from healthcheck.stages.plan import facts
from healthcheck.stages.plan.image import STUBS_FOLDER
from healthcheck.stages.plan.records import LaunchPlan
from healthcheck.stages.repo.facts import read_submission
from tests.plan.corpus import bash, case, sh
from tests.plan.corpus_steps import FEW_RIGHTS, SERVE
from tests.support.plans import judged, planned, write

CASES = {"bash": bash, "sh": sh}
ALLOWED = """
set -eu
[ "$(ulimit -n)" -ge 65535 ] || ulimit -SHn 524288
ulimit -n 65535
ulimit -c unlimited
ulimit -s unlimited
ulimit -S -n 4096
test "$(ulimit -n)" = 4096
ulimit -v unlimited
ulimit -t unlimited
ulimit unlimited
ulimit -n 100
test "$(ulimit -n)" = 100
(ulimit -n 50; test "$(ulimit -n)" = 50)
test "$(ulimit -n)" = 100
"""
SHOWN = 'set -e\nulimit -n 65535\nvllm serve "$MODEL_PATH" --host 0.0.0.0 --port 8000 --max-num-seqs "$(ulimit -n)"'
NOT_ALLOWED = (
    "ulimit -n 524289",
    "ulimit -n unlimited",
    "ulimit -l unlimited",
    "ulimit -n 4096\nulimit -n 65535",
)
WRONG = ("ulimit -n abc", "ulimit -Z 3", "ulimit -n 65_535")


def of_text(folder: Path, text: str, weights: Path) -> LaunchPlan:
    return planned(write(case("limits", text), folder / "repo"), weights)


@pytest.mark.process
@pytest.mark.parametrize("shell", CASES)
def test_limits_that_a_container_has_room_for_can_be_raised(
    shell: str, tmp_path: Path, weights: Path
) -> None:
    plan = of_text(tmp_path, CASES[shell](ALLOWED + SERVE), weights)
    assert plan.server, plan.run.stderr
    assert [run.stderr for run in plan.others if not run.servers] == [], "sh runs what bash runs"


@pytest.mark.process
@pytest.mark.parametrize("mode", Mode)
@pytest.mark.parametrize("shell", CASES)
def test_what_was_set_is_told_in_each_sandbox(
    shell: str, mode: Mode, tmp_path: Path, weights: Path
) -> None:
    repo = write(case("limits", CASES[shell](SHOWN)), tmp_path / "repo")
    plan = facts.gather(
        read_submission(repo), weights, limits=Limits(), sandbox=partial(box.run, mode=mode)
    )
    assert plan.server, plan.run.stderr
    assert plan.server.options["max-num-seqs"] == "65535"


@pytest.mark.process
def test_a_bash_that_a_script_starts_has_them_too(tmp_path: Path, weights: Path) -> None:
    """It has its parent's limits, and its own memory of none."""
    plan = of_text(
        tmp_path, bash(f"set -e\nulimit -n 65535\nbash -ec 'ulimit -n 65535{SERVE}'"), weights
    )
    assert plan.server, plan.run.stderr


@pytest.mark.process
@pytest.mark.parametrize("shell", CASES)
@pytest.mark.parametrize("step", NOT_ALLOWED)
def test_what_not_every_container_allows_is_not_passed(
    step: str, shell: str, tmp_path: Path, weights: Path
) -> None:
    _, results = judged(
        write(case("limits", CASES[shell](f"set -e\n{step}{SERVE}")), tmp_path / "repo"), weights
    )
    result = results["plan/starts-server"]
    assert not result.settled
    assert FEW_RIGHTS in result.findings[0].seen
    assert (
        "cannot modify limit" in result.findings[0].seen
        or "error setting limit" in result.findings[0].seen
    )
    assert str(STUBS_FOLDER.parent) not in result.findings[0].seen


@pytest.mark.process
@pytest.mark.parametrize("shell", CASES)
@pytest.mark.parametrize("step", WRONG)
def test_a_wrong_limit_fails_as_the_shell_has_it(
    step: str, shell: str, tmp_path: Path, weights: Path
) -> None:
    _, results = judged(
        write(case("limits", CASES[shell](f"set -e\n{step}{SERVE}")), tmp_path / "repo"), weights
    )
    result = results["plan/starts-server"]
    assert result.outcome.value == "fail"
    assert "ulimit: " in result.findings[0].seen
    assert "shell.sh" not in result.findings[0].seen


@pytest.mark.process
def test_what_else_fails_in_such_a_script_is_named_as_ever(tmp_path: Path, weights: Path) -> None:
    """dash says of a script that another one reads where it is twice."""
    text = sh(f"ulimit -n 65535\nset -e\nno-such-program --flag{SERVE}")
    _, results = judged(write(case("limits", text), tmp_path / "repo"), weights)
    assert results["plan/no-missing-programs"].outcome.value == "fail", results[
        "plan/starts-server"
    ]
    assert "deploy.sh:4" in results["plan/no-missing-programs"].findings[0].where
