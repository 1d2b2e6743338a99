"""A case of a corpus disappears only with a commit message that says so."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.process

SCRIPT = Path(__file__).parents[2] / "scripts/removed_cases.py"
CORPUS = """
CASES = {"a row": 1, "another row": 2}
LISTED = (case("a script", "…"), Case(name="a record"), case("twice", "…"), case("twice", "…"))
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    (tmp_path / "scripts").mkdir()
    (tmp_path / "tests").mkdir()
    shutil.copy(SCRIPT, tmp_path / "scripts")
    git(tmp_path, "init", "--quiet")
    commit(tmp_path, CORPUS, "begin")
    return tmp_path


def git(folder: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=A", "-c", "user.email=a@example.org")
    subprocess.run(["git", "-C", str(folder), *identity, *arguments], check=True)


def commit(folder: Path, corpus: str, message: str, *, name: str = "corpus") -> None:
    (folder / f"tests/{name}.py").write_text(corpus, "utf-8")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", message)


def removed(folder: Path) -> tuple[int, str]:
    command = ["python3", str(folder / "scripts/removed_cases.py"), "HEAD~1"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ('"another row": 2', "another row"),
        ('case("a script", "…"), ', "a script"),
        ('Case(name="a record"), ', "a record"),
        ('case("twice", "…"), ', "twice"),
    ],
)
def test_a_case_that_is_gone_needs_a_line_in_the_message(
    checkout: Path, text: str, name: str
) -> None:
    commit(checkout, CORPUS.replace(text, "", 1), "shorten the corpus")
    status, printed = removed(checkout)
    assert status == 1
    assert f"Removes-case: {name}, because" in printed
    git(
        checkout,
        "commit",
        "--quiet",
        "--amend",
        "--message",
        f"shorten\n\nRemoves-case: {name}, because it is wrong",
    )
    assert removed(checkout) == (0, "")


def test_a_reason_is_needed(checkout: Path) -> None:
    commit(
        checkout,
        CORPUS.replace('"another row": 2', ""),
        "shorten\n\nRemoves-case: another row, because ",
    )
    assert removed(checkout)[0] == 1


def test_a_case_may_move_to_another_module(checkout: Path) -> None:
    (checkout / "tests/corpus.py").unlink()
    commit(checkout, CORPUS, "move", name="elsewhere")
    assert removed(checkout) == (0, "")
