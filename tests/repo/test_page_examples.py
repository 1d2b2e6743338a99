"""The page of a repo check shows a repository that it objects to, and the repaired one: both are judged."""

from __future__ import annotations

import subprocess
from fnmatch import fnmatch
from pathlib import Path

import pytest

from healthcheck.core.records import Outcome
from healthcheck.stages.repo.facts import read_submission
from healthcheck.verify import catalogue
from tests.support.page_examples import Example, example, pages
from tests.support.repositories import GOOD_SCRIPT, git, judged, repository

pytestmark = pytest.mark.process

COMMITS = "repo/committed"
PAGES = [page for page in pages("repo") if page.id != COMMITS]


def tree(files: dict[str, str]) -> dict[str, str]:
    """The files of a page, with the deploy.sh that it does not show."""
    return (
        files
        if any(name.endswith("deploy.sh") for name in files)
        else {"deploy.sh": GOOD_SCRIPT, **files}
    )


def repaired(shown: Example) -> dict[str, str]:
    """The files after the repair, without those that moved or that its .gitignore names."""
    names = {Path(name).name for name in shown.right if name not in shown.wrong}
    ignored = shown.right.get(".gitignore", "").split()
    return {
        name: text
        for name, text in shown.right.items()
        if not ("/" in name and Path(name).name in names)
        and not any(fnmatch(name, each) for each in ignored)
    }


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.id.removeprefix("repo/"))
def test_a_check_objects_to_its_example_and_not_to_the_repaired_one(
    page: catalogue.Page, tmp_path: Path
) -> None:
    shown = example(page)
    before = judged(read_submission(repository(tmp_path / "wrong", tree(shown.wrong))), page.id)
    assert before.findings
    assert before.outcome in {Outcome.FAIL, Outcome.WARN}
    after = judged(read_submission(repository(tmp_path / "right", tree(repaired(shown)))), page.id)
    assert after.outcome is Outcome.PASS, after.findings


def test_the_example_of_uncommitted_changes_is_what_git_prints(tmp_path: Path) -> None:
    shown = example(catalogue.page(COMMITS))
    root = repository(tmp_path / "repo", {"deploy.sh": GOOD_SCRIPT})
    (root / "deploy.sh").write_text(f"{GOOD_SCRIPT}# changed\n", encoding="utf-8")
    git(root, "config", "user.name", "Author")
    git(root, "config", "user.email", "author@example.org")
    for text, outcome in ((shown.wrong[""], Outcome.WARN), (shown.right[""], Outcome.PASS)):
        commands = [line.removeprefix("$ ") for line in text.splitlines() if line.startswith("$ ")]
        done = subprocess.run(
            ["sh", "-ec", "\n".join(commands)], cwd=root, capture_output=True, text=True, check=True
        )
        assert done.stdout == "".join(
            f"{line}\n" for line in text.splitlines() if not line.startswith("$ ")
        )
        assert judged(read_submission(root), COMMITS).outcome is outcome
