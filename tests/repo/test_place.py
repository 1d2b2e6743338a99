"""A folder shows its own commits: what it was unpacked with cannot name another repository of the user."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from healthcheck.errors import UsageError
from healthcheck.stages.repo.facts import read_submission
from tests.support.repositories import GOOD_SCRIPT, git, repository


@pytest.mark.process
def test_a_submodule_is_read(tmp_path: Path):
    inner = repository(tmp_path / "inner", {"deploy.sh": GOOD_SCRIPT})
    outer = repository(tmp_path / "outer", {"README.md": "Several adapters\n"})
    git(outer, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(inner), "adapter")
    assert read_submission(outer / "adapter").deploy_sh == GOOD_SCRIPT.encode()


FOREIGN = {
    "a file": ["rm -r .git", "echo gitdir: ../private/.git > .git"],
    "a file and a configuration": ["rm -r .git", "echo gitdir: own > .git", "mkdir own", "cp ../private/.git/HEAD own",
        "echo ../../private/.git > own/commondir"],
    "a link": ["rm -r .git", "ln -s ../private/.git .git"],
    "a link to objects": ["rm -r .git/objects", "ln -s ../../private/.git/objects .git/objects"],
    "links to single objects": ["cp -rs $PWD/../private/.git/objects/. .git/objects"],
    "alternates": ["echo ../../../private/.git/objects > .git/objects/info/alternates"],
}  # fmt: skip


@pytest.mark.process
@pytest.mark.parametrize("way", FOREIGN)
def test_the_commits_of_another_repository_are_not_shown(tmp_path: Path, way: str):
    private = repository(tmp_path / "private", {"deploy.sh": "echo secret\n"})
    unpacked = repository(tmp_path / "unpacked", {"deploy.sh": GOOD_SCRIPT})
    subprocess.run(["sh", "-ec", "\n".join(FOREIGN[way])], cwd=unpacked, check=True)
    if (unpacked / ".git" / "refs").is_dir():
        (unpacked / ".git" / "HEAD").write_text(git(private, "rev-parse", "HEAD"))
    assert git(unpacked, "show", "HEAD:deploy.sh") == "echo secret\n"
    with pytest.raises(UsageError, match=r"another one|as its worktree"):
        read_submission(unpacked)


@pytest.mark.process
def test_borrowed_objects_are_read_after_the_repair_that_is_named(tmp_path: Path):
    source = repository(tmp_path / "source", {"deploy.sh": GOOD_SCRIPT})
    git(tmp_path, "clone", "-q", "--shared", str(source), "a borrower")
    with pytest.raises(UsageError) as refused:
        read_submission(tmp_path / "a borrower")
    repair = str(refused.value).partition("into it: ")[2]
    subprocess.run(["sh", "-ec", repair], check=True)
    assert read_submission(tmp_path / "a borrower").deploy_sh == GOOD_SCRIPT.encode()
