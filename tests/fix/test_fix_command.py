"""`verify --fix` from run to run: what it says of a repair until that is committed."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from healthcheck.core.records import Verdict, verdict_of
from tests.support import commands
from tests.support.commands import Ended
from tests.support.repositories import git, repository
from tests.weights.folders import model

WEIGHTS = Path(__file__).parents[2] / "examples" / "simulated_engine" / "weights"
SCRIPT = '#!/bin/sh\nexec vllm serve "$MODEL_PATH" --host 0.0.0.0 --port 8001\n'
LATER = "not ready: the repair is not committed. With it: ready"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return repository(tmp_path / "r", {"deploy.sh": SCRIPT})


def ran(root: Path, *options: str) -> Ended:
    done = commands.ran("verify", str(root), "--weights", str(WEIGHTS), "--until", "plan", *options)
    assert "Traceback" not in done.stderr
    return done


def verify(root: Path, *options: str) -> tuple[int, str, dict[str, str]]:
    file = root.parent / "report.json"
    done = ran(root, "--json", str(file), *options)
    return done.returncode, done.stdout, json.loads(file.read_text()) if file.is_file() else {}


@pytest.mark.process
def test_a_repair_is_no_pass_before_it_is_committed_and_one_afterwards(root: Path):
    status, said, report = verify(root, "--fix", "--quiet")
    assert status == 1
    assert "repaired for plan/port" in said
    assert LATER in said
    assert report["verdict"] == "not-ready"
    commit, again = report["next_commands"]
    assert commit == f"(cd {root} && git commit -am 'Repair the submission')"
    assert "--fix" not in again

    status, said, report = verify(root, "--fix", "--quiet")
    assert status == 1
    assert "already repaired in the working copy for plan/port" in said
    assert "not repaired" not in said
    assert LATER in said
    assert report["next_commands"] == [commit, again]

    subprocess.run(("sh", "-c", commit), cwd=root.parent, check=True)
    status, said, report = verify(root, "--fix", "--quiet")
    assert status == 0
    assert "repaired" not in said
    assert report["verdict"] == "ready"


@pytest.mark.process
def test_another_edit_is_named_as_what_stands_in_the_way(root: Path):
    (root / "deploy.sh").write_text(SCRIPT.replace("exec", "# mine\nexec"))
    status, said, report = verify(root, "--fix", "--quiet")
    assert status == 1
    assert "deploy.sh has uncommitted changes; commit or stash them first" in said
    assert "plain words" not in said
    assert "plan/port failed" in report["headline"]
    assert (root / "deploy.sh").read_text() == SCRIPT.replace("exec", "# mine\nexec")


@pytest.mark.process
def test_where_there_is_nothing_to_repair_that_is_said(root: Path):
    (root / "deploy.sh").write_text(SCRIPT.replace("8001", "8000"))
    git(root, "commit", "-qam", "right")
    done = ran(root, "--fix", "--quiet")
    assert done.returncode == 0
    assert done.stderr == "nothing to repair\n"


@pytest.mark.process
def test_line_ends_of_the_folder_alone_are_left_with_the_command_that_repairs_them(root: Path):
    right = SCRIPT.replace("8001", "8000").encode()
    (root / "deploy.sh").write_bytes(right)
    git(root, "commit", "-qam", "right")
    (root / "deploy.sh").write_bytes(right.replace(b"\n", b"\r\n"))
    done = ran(root, "--fix", "--quiet")
    assert done.returncode == 0
    (line,) = [
        line for line in done.stdout.splitlines() if line.startswith("repo/deploy-sh-syntax: ")
    ]
    repair = line.rpartition("in LF: ")[2]
    subprocess.run(("sh", "-c", repair), cwd=root, check=True)
    assert (root / "deploy.sh").read_bytes() == right
    assert ran(root, "--fix", "--quiet").stderr == "nothing to repair\n"


@pytest.mark.process
def test_a_json_report_on_standard_output_is_nothing_but_json(root: Path):
    _, said, _ = verify(root, "--fix", "--quiet", "--json", "-")
    assert json.loads(said)["verdict"] == "not-ready"


def test_what_is_not_committed_is_never_ready():
    assert verdict_of((), uncommitted="not committed yet") is Verdict.NOT_READY


@pytest.mark.process
def test_options_that_do_not_suit_the_weights_are_repaired_where_they_are(tmp_path: Path):
    script = SCRIPT.replace("8001", "8000 \\\n  --enable-expert-parallel \\\n  $ARGS")
    files = {
        "deploy.sh": script.replace("exec", 'cd "$(dirname "$0")"\n. ./conf.sh\nexec'),
        "conf.sh": '# of another model\nARGS="--tensor-parallel-size 3"\n',
    }
    root, weights = repository(tmp_path / "r", files), model(tmp_path / "w")
    words = ("--weights", str(weights), "--until", "weights", "--npus", "2", "--quiet")
    done = commands.ran("verify", str(root), *words, "--fix")
    assert "repaired for plan/options-suit-weights" in done.stdout
    assert "repaired for plan/fits-hardware" in done.stdout
    assert "enable-expert-parallel" not in (root / "deploy.sh").read_text()
    assert '"--tensor-parallel-size 2"' in (root / "conf.sh").read_text()
    git(root, "commit", "-qam", "repaired")
    assert commands.ran("verify", str(root), *words).returncode == 0
