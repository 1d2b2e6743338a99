"""The kit and the real pip agree on which arguments of `pip install` contain no requirement."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from healthcheck.stages.repo import pip_words

pytest.importorskip("pip")

LISTS = (
    "", "-q", "-qq", "-U", "--upgrade", "-qU", "--no-cache-dir", "--no-index -v", "--pre --no-deps",
    "-i http://127.0.0.1:9/simple", "-qi http://127.0.0.1:9/simple", "-ihttp://127.0.0.1:9/simple",
    "--index-url http://127.0.0.1:9/simple", "--index-url=http://127.0.0.1:9/simple", "--trusted-host 127.0.0.1",
    "--extra-index-url http://127.0.0.1:9/simple --trusted-host 127.0.0.1 -q", "-t out", "-tout", "--target=out",
    "-c limits.txt", "--constraint limits.txt", "-climits.txt", "-f wheels", "--find-links=wheels --no-index",
    "--no-binary :all:", "--only-binary=:all: --platform any -t out", "--timeout 5 --retries 1 --proxy 127.0.0.1:9",
    "--global-option x", "--config-settings a=b", "-Ca=b", "--cache-dir cache --log out.log", "--root-user-action ignore",
    "--progress-bar off --no-input", "--report report.json", "--", "-- -q", "missing-one", "-q missing-one",
    "missing-one -U", "-r limits.txt", "-qr limits.txt", "-rlimits.txt", "--requirement=limits.txt", "-e missing",
    "-qemissing", "--editable=missing", "-c limits.txt missing-one", "./missing-one.whl", "-t out -q missing-one",
    "--index-u http://127.0.0.1:9/simple", "-", "-h", "--help", "-Uq --no-deps -c limits.txt",
)  # fmt: skip
"""Some fail, none reaches a network: pip has no index here."""
ASK_PIP = """
import contextlib, io, json, sys
from pip._internal.cli.main import main
for arguments in json.load(sys.stdin):
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said), contextlib.suppress(SystemExit):
        main(["install", *arguments])
    print(json.dumps("You must give at least one requirement" in said.getvalue()))
"""


@pytest.mark.process
def test_what_pip_refuses_for_want_of_a_requirement(tmp_path: Path) -> None:
    (tmp_path / "limits.txt").touch()
    (tmp_path / "wheels").mkdir()
    lists = [line.split() for line in LISTS]
    without_network = {
        "PIP_NO_INDEX": "1",
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    }
    answers = subprocess.run(
        [sys.executable, "-c", ASK_PIP],
        input=json.dumps(lists),
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path), **without_network},
    ).stdout.splitlines()
    assert len(answers) == len(lists)
    ours = {line: pip_words.gives_nothing(words) for line, words in zip(LISTS, lists, strict=True)}
    assert ours == dict(zip(LISTS, map(json.loads, answers), strict=True))
    assert len(set(ours.values())) == 2


def test_requirements_and_files_are_found_wherever_they_are_among_the_options() -> None:
    words = [
        "-qU",
        "torch",
        "-c",
        "limits.txt",
        "-qr",
        "a.txt",
        "--requirement=b.txt",
        "-e",
        ".",
        "-e./c",
        "--index-url",
        "http://x",
        "--",
        "-d",
    ]
    assert list(pip_words.operands(words)) == ["torch", ".", "./c", "-d"]
    assert list(pip_words.lists(words)) == ["a.txt", "b.txt"]
