"""The verdict on a script does not depend on which programs this machine has."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from healthcheck.core.ledger import Ledger
from healthcheck.core.progress import Silent
from healthcheck.sandbox import box
from healthcheck.sandbox.job import STANDARD_PATH, Job, Limits, Mode, Recording
from healthcheck.stages.plan import facts, image
from healthcheck.stages.plan.checks import CHECKS
from healthcheck.stages.repo.facts import read_submission
from tests.plan.corpus import bash, case
from tests.support.plans import judged, write

SERVE = 'exec vllm serve "$MODEL_PATH" --host 0.0.0.0 --port 8000'
FAKE = "#!/bin/sh\necho 9000\n"


def outcomes(root: Path, weights: Path, mode: Mode, *, stack: str | None = None) -> dict[str, str]:
    """The outcome of each check in a mode of the sandbox."""
    sandbox: Callable[[box.Setting], tuple[Job, Recording]] = partial(box.run, mode=mode)
    plan = facts.gather(
        read_submission(root, stack=stack), weights, limits=Limits(), sandbox=sandbox
    )
    ledger = Ledger(Silent())
    ledger.judge(CHECKS, lambda: plan)
    return {result.id: result.outcome.value for result in ledger.results}


@pytest.fixture
def fakes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder at the head of this machine's search path, with programs that the image lacks."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("jq", "envsubst", "nginx", "bc"):
        (folder / name).write_text(FAKE)
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    return folder


@pytest.mark.process
@pytest.mark.parametrize("mode", [Mode.ISOLATED, Mode.CONFINED])
@pytest.mark.parametrize("program", ["envsubst", "bc", "nginx"])
def test_a_program_that_only_this_machine_has_is_missing(
    program: str, mode: Mode, fakes: Path, tmp_path: Path, weights: Path
) -> None:
    root = write(case("x", bash(f"set -e\n{program} </dev/null\n{SERVE}")), tmp_path / "repo")
    found = outcomes(root, weights, mode)
    assert found["plan/no-missing-programs"] == "fail"
    assert found["plan/starts-server"] == "fail"


@pytest.mark.process
@pytest.mark.parametrize(("stack", "outcome"), [("0.10.2rc1", "fail"), ("0.23.0", "pass")])
def test_jq_is_in_the_images_with_cann_8_3_and_later(
    stack: str, outcome: str, fakes: Path, tmp_path: Path, weights: Path
) -> None:
    root = write(case("x", bash(f"set -e\ncommand -v jq\n{SERVE}")), tmp_path / "repo")
    _, results = judged(root, weights, stack=stack)
    assert results["plan/starts-server"].outcome.value == outcome


@pytest.mark.process
def test_programs_of_the_image_are_there_on_every_machine(tmp_path: Path, weights: Path) -> None:
    names = sorted(image.REAL_PROGRAMS - image.INSTALLED_ONLY)
    here = [name for name in names if shutil.which(name, path=STANDARD_PATH)]
    assert len(names) > 500
    assert set(here) < set(names), "this machine lacks some of them, as every other one does"
    asks = (
        "for name in "
        + " ".join(names)
        + '; do command -v "$name" >/dev/null || echo "lacks $name"; done'
    )
    root = write(case("x", bash(f"{asks}\n{SERVE}")), tmp_path / "repo")
    plan, results = judged(root, weights)
    lacked = {
        line.removeprefix("lacks ")
        for line in plan.run.stdout.splitlines()
        if line.startswith("lacks ")
    }
    assert results["plan/starts-server"].outcome.value == "pass"
    others = {"mount", "umount", "mknod", "service", "gpgv"}
    assert lacked == {"su", "runuser", "setpriv", "unshare", "nsenter", *others}, (
        "a container has no use for these"
    )


@pytest.mark.process
def test_a_link_leads_to_the_machine_own_program(tmp_path: Path, weights: Path) -> None:
    """awk is a link to a program that the image may lack under its own name."""
    root = write(
        case("x", bash(f"set -e\n[ \"$(echo 1 2 | awk '{{print $2}}')\" = 2 ]\n{SERVE}")),
        tmp_path / "repo",
    )
    for mode in (Mode.ISOLATED, Mode.CONFINED):
        assert outcomes(root, weights, mode)["plan/starts-server"] == "pass"
