"""The manual page: what the help says, in roff that groff reads without a warning."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest

from healthcheck.cli import completion, main


@pytest.fixture
def page(capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["man"]) == 0
    return capsys.readouterr().out


def test_it_has_every_command_and_every_option(page: str) -> None:
    shown = page.replace("\\-", "-")
    for name, words in completion.commands().items():
        (section,) = re.findall(rf"^\.SS {name}\n(.*?)(?=^\.S[SH] |\Z)", shown, re.MULTILINE | re.DOTALL)
        options = {option for word in words for option in word.names} - {"-h", "--help"}
        assert [option for option in options if option not in section] == [], name


@pytest.mark.process
def test_roff_finds_nothing_to_warn_of(page: str) -> None:
    if not shutil.which("groff"):
        pytest.skip("needs groff to read it")
    done = subprocess.run(["groff", "-man", "-Tutf8", "-ww"], input=page.encode(), capture_output=True, check=False)
    assert (done.returncode, done.stderr.decode()) == (0, "")
    assert b"--junit" in re.sub(rb".\x08", b"", done.stdout)
