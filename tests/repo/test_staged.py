"""What a pre-commit hook judges: what is staged, and neither the commit nor the working copy."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from healthcheck.cli import main
from healthcheck.errors import UsageError
from healthcheck.stages.repo.export import export
from healthcheck.stages.repo.facts import read_submission
from healthcheck.system import yaml_text
from tests.support.repositories import GOOD_SCRIPT, git, repository
from tests.support.template import ROOT

pytestmark = pytest.mark.process

BAD_SCRIPT = GOOD_SCRIPT.replace("8000", "8001")


def test_what_is_staged_counts(tmp_path: Path) -> None:
    root = repository(
        tmp_path / "r", {"deploy.sh": BAD_SCRIPT, "gone.txt": "", "kept.txt": "old\n"}
    )
    (root / "deploy.sh").write_text(GOOD_SCRIPT)
    (root / "new.txt").write_text("")
    git(root, "add", "deploy.sh", "new.txt")
    git(root, "rm", "-q", "gone.txt")
    (root / "deploy.sh").write_text("#!/bin/sh\nexit 1\n")
    (root / "kept.txt").write_text("not staged\n")
    (root / "untracked.txt").write_text("")
    (root / "meant.txt").write_text("")
    git(root, "add", "--intent-to-add", "meant.txt")
    before = (root / ".git" / "index").read_bytes()
    found = read_submission(root, staged=True)
    assert found.deploy_sh == GOOD_SCRIPT.encode()
    assert found.paths == ("deploy.sh", "kept.txt", "new.txt")
    assert found.changed == ()
    assert set(found.untracked) == {"untracked.txt", "meant.txt"}
    with export(found) as copy:
        assert (copy / "deploy.sh").read_text() == GOOD_SCRIPT
        assert (copy / "kept.txt").read_text() == "old\n"
    assert (root / ".git" / "index").read_bytes() == before


def test_a_commit_of_some_files_has_an_index_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = repository(tmp_path / "r", {"deploy.sh": GOOD_SCRIPT, "other.txt": "old\n"})
    (root / "deploy.sh").write_text(BAD_SCRIPT)
    (root / "other.txt").write_text("new\n")
    git(root, "add", "-A")
    hook = root / ".git" / "hooks" / "pre-commit"
    hook.write_text(f"#!/bin/sh\ncp $GIT_INDEX_FILE {tmp_path}/seen\nexit 1\n")
    hook.chmod(0o755)
    with pytest.raises(subprocess.CalledProcessError):
        git(root, "commit", "-m", "x", "other.txt")
    (root / ".git" / "next-index").write_bytes((tmp_path / "seen").read_bytes())
    monkeypatch.setenv("GIT_INDEX_FILE", ".git/next-index")
    assert read_submission(root, staged=True).deploy_sh == GOOD_SCRIPT.encode()
    monkeypatch.delenv("GIT_INDEX_FILE")
    assert read_submission(root, staged=True).deploy_sh == BAD_SCRIPT.encode()


def test_a_merge_conflict_is_wrong_usage(tmp_path: Path) -> None:
    root = repository(tmp_path / "r", {"deploy.sh": GOOD_SCRIPT})
    git(root, "checkout", "-q", "-b", "side")
    (root / "deploy.sh").write_text(BAD_SCRIPT)
    git(root, "commit", "-q", "-a", "-m", "side")
    git(root, "checkout", "-q", "main")
    (root / "deploy.sh").write_text(GOOD_SCRIPT.replace("8000", "8002"))
    git(root, "commit", "-q", "-a", "-m", "main")
    with pytest.raises(subprocess.CalledProcessError):
        git(root, "merge", "side")
    with pytest.raises(UsageError, match="cannot be committed"):
        read_submission(root, staged=True)


def test_the_command_judges_what_is_staged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = repository(tmp_path / "r", {"deploy.sh": GOOD_SCRIPT})
    (root / "deploy.sh").write_text("#!/bin/sh\nif\n")
    command = ["verify", str(root), "--staged", "--until", "repo", "--quiet"]
    assert main(command) == 0
    git(root, "add", "deploy.sh")
    assert main(command) == 1
    assert "repo/deploy-sh-syntax" in capsys.readouterr().out
    assert main(["verify", str(root), "--staged"]) == 2


@pytest.mark.slow
def test_pre_commit_runs_the_hooks(tmp_path: Path) -> None:
    """The real pre-commit installs this checkout and refuses a commit with the wrong port, whatever lies about it."""
    root = repository(tmp_path / "r", {"deploy.sh": GOOD_SCRIPT})
    environment = {
        k: v for k, v in os.environ.items() if not k.startswith("GIT_") and k != "PYTHONPATH"
    }

    def tried() -> subprocess.CompletedProcess[str]:
        command = [
            sys.executable,
            "-m",
            "pre_commit",
            "try-repo",
            str(ROOT),
            "npu-adapter-plan",
            "--verbose",
        ]
        return subprocess.run(
            command, cwd=root, capture_output=True, text=True, check=False,
            env=environment | {"PRE_COMMIT_HOME": str(tmp_path / "home"), "HOME": str(tmp_path)},
        )  # fmt: skip

    (root / "deploy.sh").write_text(BAD_SCRIPT)
    unstaged = tried()
    assert unstaged.returncode == 0, unstaged.stdout + unstaged.stderr
    git(root, "add", "deploy.sh")
    staged = tried()
    assert staged.returncode == 1, staged.stdout + staged.stderr
    assert "plan/port" in staged.stdout


@pytest.mark.parametrize(
    ("path", "runs"),
    [
        ("deploy.sh", True),
        ("requirements.txt", True),
        ("adapter/plan.py", True),
        ("config/vllm.env", True),
        ("template.jinja", True),
        ("Dockerfile", True),
        ("README.md", False),
        ("docs/load.png", False),
    ],
)
def test_documents_and_pictures_alone_start_no_hook(path: str, runs: bool) -> None:
    hooks = yaml_text.load((ROOT / ".pre-commit-hooks.yaml").read_text())
    for hook in hooks:
        assert bool(re.search(hook["files"], path)) == runs
        assert "always_run" not in hook
