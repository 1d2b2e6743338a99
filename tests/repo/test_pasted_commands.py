"""Commands of repairs are pasted into a shell, in a repository with peculiar names of files."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from healthcheck.core.commands import file_words
from healthcheck.stages.plan.script.line_ends import line_end_repair
from tests.support.repositories import folder, git

pytestmark = pytest.mark.process
NAMES = (
    "-e1e id >pwned",
    "two words.env",
    'a"b.env',
    "back\\slash.env",
    "star*[x].env",
    "!not.env",
    "#no.env",
    ":(top)x.env",
    "conf/plain.env",
)


def paste(root: Path, command: str) -> None:
    identity = {
        f"GIT_{who}_{what}": "a@example.org"
        for who in ("AUTHOR", "COMMITTER")
        for what in ("NAME", "EMAIL")
    }
    environment = {"PATH": os.environ["PATH"], "HOME": str(root.parent), **identity}
    subprocess.run(
        ["sh", "-c", command], cwd=root, env=environment, check=True, capture_output=True
    )


def attribute(root: Path, path: str) -> str:
    return git(root, "check-attr", "-z", "eol", "--", path).split("\0")[2]


def test_lines_end_in_lf_now_and_after_the_next_checkout(tmp_path: Path) -> None:
    files = dict.fromkeys(NAMES, "A=1\r\nB=2\r\n")
    root = folder(tmp_path / "r", files | {".gitattributes": "*.bin binary"})
    git(root, "init", "-q")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "first")
    paste(root, line_end_repair(*(f"./{name}" for name in NAMES[4:]), *NAMES[:4]).command)
    assert not git(root, "status", "--porcelain")
    assert not (root / "pwned").exists()
    assert {name: (root / name).read_bytes() for name in NAMES} == dict.fromkeys(
        NAMES, b"A=1\nB=2\n"
    )
    assert {name: attribute(root, name) for name in NAMES} == dict.fromkeys(NAMES, "lf")
    assert attribute(root, "starry.env") == "unspecified"
    assert git(root, "check-attr", "binary", "x.bin") == "x.bin: binary: set\n"


@pytest.mark.parametrize("name", NAMES)
def test_a_name_is_never_an_option(name: str, tmp_path: Path) -> None:
    root = folder(tmp_path / "r", {name: "", "other": ""})
    git(root, "init", "-q")
    word = file_words(name)
    paste(root, f"git add -f {word} && chmod +x {word} && git update-index --chmod=+x {word}")
    paste(root, f"git mv {word} moved && git mv moved {word}")
    assert git(root, "ls-files", "-sz").endswith(f"\t{name}\0")
    assert git(root, "ls-files", "-s").startswith("100755")
    assert not (root / "pwned").exists()
