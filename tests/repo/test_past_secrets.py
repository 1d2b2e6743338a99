"""repo/no-secrets: a secret of an earlier commit, in whole, shallow and long histories."""

from __future__ import annotations

from pathlib import Path

import pytest

from healthcheck.core.records import Level, Outcome
from healthcheck.stages.repo.facts import read_submission
from tests.support.repositories import GOOD_SCRIPT, folder, git, judged, repository, seen

pytestmark = pytest.mark.process
KEY = "hf_aZ3kQ9wLxP7rT2vB8nM4cJ6yD1sF5gH0"
CHECK = "repo/no-secrets"


def committed(root: Path, files: dict[str, str], message: str) -> None:
    folder(root, files)
    git(root, "add", "-A", "-f")
    git(root, "commit", "-q", "-m", message)


def cleaned(root: Path) -> Path:
    """A repository whose second commit removes a key, and whose third changes something else."""
    repository(
        root, {"deploy.sh": f"#!/bin/sh\nexport HF_TOKEN={KEY}\n{GOOD_SCRIPT}", "README.md": "x\n"}
    )
    committed(root, {"deploy.sh": GOOD_SCRIPT}, "Remove the key")
    committed(root, {"README.md": "y\n"}, "Say more")
    return root


def test_a_key_that_a_later_commit_removed_has_to_be_revoked(tmp_path: Path) -> None:
    root = cleaned(tmp_path / "r")
    first = git(root, "rev-list", "--max-parents=0", "HEAD")[:12]
    result = judged(read_submission(root), CHECK)
    assert result.outcome is Outcome.WARN
    (found,) = result.findings
    assert found.where == f"{first}:deploy.sh"
    assert found.seen == (
        f"export HF_TOKEN=removed in deploy.sh of commit {first}, where “removed” stands for the secret; "
        "every clone has it"
    )
    assert "revoke it" in found.fix
    assert KEY not in repr(result)


def test_a_key_that_is_still_there_is_told_once(tmp_path: Path) -> None:
    root = repository(
        tmp_path / "r", {"deploy.sh": f"#!/bin/sh\nexport HF_TOKEN={KEY}\n{GOOD_SCRIPT}"}
    )
    committed(root, {"README.md": "y\n"}, "Say more")
    assert seen(judged(read_submission(root), CHECK), Level.WARN) == [
        "deploy.sh:2 export HF_TOKEN=removed, where “removed” stands for the secret"
    ]


def test_a_clean_history_passes_without_a_word(tmp_path: Path) -> None:
    root = repository(tmp_path / "r", {"deploy.sh": GOOD_SCRIPT})
    committed(root, {"run.sh": "echo $HF_TOKEN\n"}, "Say more")
    result = judged(read_submission(root), CHECK)
    assert (result.outcome, result.findings) == (Outcome.PASS, ())


def test_a_shallow_clone_says_that_it_lacks_the_history(tmp_path: Path) -> None:
    origin = cleaned(tmp_path / "r")
    git(tmp_path, "clone", "-q", "--depth", "1", origin.as_uri(), str(tmp_path / "shallow"))
    result = judged(read_submission(tmp_path / "shallow"), CHECK)
    assert result.outcome is Outcome.PASS
    assert "the clone is shallow" in result.findings[0].seen


def test_a_branch_that_was_merged_counts(tmp_path: Path) -> None:
    root = repository(tmp_path / "r", {"deploy.sh": GOOD_SCRIPT})
    git(root, "checkout", "-q", "-b", "side")
    committed(root, {"scripts/up.sh": f"curl -H 'Authorization: Bearer {KEY}' x\n"}, "Upload")
    committed(root, {"scripts/up.sh": "true\n"}, "Do not")
    git(root, "checkout", "-q", "-")
    committed(root, {"README.md": "y\n"}, "Say more")
    git(root, "merge", "-q", "--no-ff", "-m", "Merge", "side")
    (found,) = judged(read_submission(root), CHECK).findings
    assert found.where.endswith(":scripts/up.sh")


def test_no_program_of_the_repository_runs(tmp_path: Path) -> None:
    root, spy = cleaned(tmp_path / "r"), tmp_path / "spied"
    (root / ".git" / "info").mkdir(exist_ok=True)
    (root / ".git" / "info" / "attributes").write_text("*.sh diff=spy\n")
    for name in ("textconv", "command"):
        git(root, "config", f"diff.spy.{name}", f"touch {spy};cat")
    git(root, "config", "core.pager", f"touch {spy}")
    assert judged(read_submission(root), CHECK).outcome is Outcome.WARN
    assert not spy.exists()
