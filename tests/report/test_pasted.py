"""What `verify` prints can be pasted: each command works as it stands, from where `verify` was called."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from healthcheck.verify import provenance
from tests.support.commands import ran
from tests.support.repositories import git, repository

OPTIONS = ("--until", "plan")
SCRIPT = '#!/bin/sh\nexec vllm serve "$MODEL_PATH" \\\n  --enable-reasoning \\\n  --port 8000\n'
SECRET = "sk-aZ3kQ9wLxP7rT2vB8nM4"


@pytest.mark.process
def test_an_uncommitted_repair_is_committed_and_not_made_again(tmp_path: Path) -> None:
    root = repository(tmp_path / "my repo", {"deploy.sh": SCRIPT})
    repaired = SCRIPT.replace("  --enable-reasoning \\\n", "")
    (root / "deploy.sh").write_text(repaired)
    file = tmp_path / "report.json"
    kit = Path(sys.executable).with_name("npu-adapter")
    done = subprocess.run(
        [kit, "verify", "my repo", *OPTIONS, "--json", file],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    commit, again = json.loads(file.read_text())["next_commands"]
    printed = [line.strip() for line in done.stdout.splitlines()]
    assert commit in printed
    assert again in printed
    flags = next(c for c in json.loads(file.read_text())["checks"] if c["id"] == "plan/flags")
    assert "the working copy of deploy.sh no longer has this text" in flags["fix"]
    assert flags["fix"].count("--enable-reasoning") == 1
    subprocess.run(["sh", "-c", commit], cwd=tmp_path, check=True, stdin=subprocess.DEVNULL)
    assert git(root, "status", "--porcelain") == ""
    subprocess.run(["sh", "-c", again], cwd=tmp_path, check=True, capture_output=True)
    assert json.loads(file.read_text())["verdict"] == "ready"


@pytest.mark.process
def test_a_hidden_value_does_not_look_like_the_text_of_the_line(tmp_path: Path) -> None:
    script = SCRIPT.replace("  --enable-reasoning \\\n", "").replace(
        "exec", f"export VLLM_API_KEY={SECRET}\nexec"
    )
    root = repository(tmp_path / "r", {"deploy.sh": script})
    plain = ran("verify", str(root), *OPTIONS).stdout
    fixed = ran("verify", str(root), *OPTIONS, "--fix").stdout
    for printed in (plain, fixed):
        assert SECRET not in printed
        assert "`export VLLM_API_KEY=…` (… is a hidden value)" in " ".join(printed.split())
        assert "remove the line `export VLLM_API_KEY=removed`" not in printed
    assert "-export VLLM_API_KEY=…\n" in fixed


@pytest.mark.parametrize(
    ("called", "on_path", "shown"),
    [
        ("/v/bin/npu-adapter", "/v/bin/npu-adapter", ("npu-adapter",)),
        ("/v/bin/npu-adapter", None, ("/v/bin/npu-adapter",)),
        (".venv/bin/npu-adapter", "/v/bin/npu-adapter", (".venv/bin/npu-adapter",)),
        ("/v/lib/healthcheck/__main__.py", None, ("python3", "-m", "healthcheck")),
        ("/v/bin/pytest", None, ("npu-adapter",)),
    ],
)
def test_the_kit_is_named_as_it_was_called(
    called: str, on_path: str | None, shown: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", [called, "verify", "r"])
    monkeypatch.setattr("sys.orig_argv", ["python3", "-m", "healthcheck", "verify", "r"])
    monkeypatch.setattr("healthcheck.system.programs.find", lambda _: on_path)
    assert provenance.program() == shown
