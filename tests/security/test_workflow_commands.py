"""What a submission says never reaches a runner of GitHub as a command, in any form and at any place of a line."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.repositories import repository

SAID = (
    "::error file=a::x", "  ::set-output name=verdict::ready", "x ::add-mask::y", "##[error]x", "a ##[set-env name=A]b",
    "::stop-commands::t", "::group::a", "##[group]a", "::::::", "###[warning]x",
)  # fmt: skip


@pytest.mark.parametrize("how", [("--quiet",), ("--verbose",), (), ("--json", "-")])
def test_no_command_of_a_submission_leaves(how: tuple[str, ...], tmp_path: Path) -> None:
    body = "\n".join(f"echo '{line}' >&2" for line in SAID)
    root = repository(tmp_path / "r", {"deploy.sh": f"#!/bin/sh\n{body}\nexit 3\n"})
    (tmp_path / "w").mkdir()
    words = ("verify", str(root), "--weights", str(tmp_path / "w"), "--until", "plan", *how)
    done = subprocess.run(
        (sys.executable, "-I", "-m", "healthcheck", *words),
        env={**os.environ, "GITHUB_ACTIONS": "true", "COLUMNS": "60"}, cwd="/", capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    lines = [line for line in (done.stdout + done.stderr).splitlines() if not line.startswith("::")]
    assert lines
    assert not [line for line in lines if re.search(r"##\[|^\s*::", line)]
    if how != ("--json", "-"):
        assert not [line for line in lines if "::" in line]
    else:
        assert json.loads(done.stdout)["verdict"] == "not-ready"
    for line in (done.stdout + done.stderr).splitlines():
        if line.startswith("::"):
            assert re.match(r"::(?:error|warning) (?:file=deploy\.sh,line=\d+,)?title=\w+/[\w-]+", line)
            assert "##[" not in line
