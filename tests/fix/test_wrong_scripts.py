"""`verify --fix` makes ordinary defects good: the files are as they were meant, and a second run finds nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fix.wrong_scripts import WRONG, Wrong
from tests.support import commands
from tests.support.daily import every
from tests.support.repositories import git, repository

WEIGHTS = Path(__file__).parents[2] / "examples" / "simulated_engine" / "weights"


@pytest.mark.process
@pytest.mark.parametrize("wrong", every(6, WRONG), ids=lambda wrong: wrong.name)
def test_a_wrong_submission_is_repaired_and_then_clean(tmp_path: Path, wrong: Wrong):
    root = _written(tmp_path / "r", wrong)
    _verified(root, "--fix")
    assert {name: (root / name).read_text(encoding="utf-8") for name in wrong.after} == wrong.after
    git(root, "commit", "-qam", "repaired")
    again = _verified(root, "--fix")
    assert again.returncode == 0, again.stdout
    assert "warning" not in again.stdout
    assert not git(root, "status", "--porcelain")


def _written(root: Path, wrong: Wrong) -> Path:
    """The submission as a repository; git must not change its line ends."""
    repository(root, {name: text.encode() for name, text in wrong.before.items()})
    if not wrong.executable:
        git(root, "update-index", "--chmod=-x", "deploy.sh")
        (root / "deploy.sh").chmod(0o644)
        git(root, "commit", "-qm", "not executable")
    return root


def _verified(root: Path, *options: str) -> commands.Ended:
    done = commands.ran(
        "verify", str(root), "--weights", str(WEIGHTS), "--until", "plan", "--quiet", *options
    )
    assert "Traceback" not in done.stderr
    return done
