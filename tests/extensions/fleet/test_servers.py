"""`npu-adapter probe --on`: what is refused before anything is launched (test_replicas.py launches)."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from healthcheck.cli import main
from tests.support.repositories import GOOD_SCRIPT, repository

pytestmark = pytest.mark.process


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["adapter", "--on", "auto"], "--weights DIR is needed"),
        (["adapter", "adapter", "--on", "auto", "--weights", "/w"], "'adapter' is one too many"),
        (["nothing", "--on", "auto", "--weights", "/w"], "there is no folder"),
        (["https://h/a.git", "--on", "auto", "--weights", "/w"], "ends in @ and its commit in full"),
        (["adapter", "--on", "local", "--weights", "/w"], "--on local: start deploy.sh here"),
        (["adapter", "--on", "auto", "--weights", "/w", "--env", "X"], "--env 'X' has no '='"),
        (["adapter", "--on", "auto", "--weights", "/w", "--npu", "910Z"], "no NPU of the kind '910Z' is known"),
        (["adapter", "--on", "auto", "--weights", "/w", "--dataset", "no.jsonl"], "no.jsonl"),
    ],
)
def test_what_does_not_go_together_is_wrong_usage(
    words: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    repository(tmp_path / "adapter", {"deploy.sh": GOOD_SCRIPT})
    assert main(["probe", *words]) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "report").exists()


def test_without_ray_the_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    repository(tmp_path / "adapter", {"deploy.sh": GOOD_SCRIPT})
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "ray", None)
    assert main(["probe", "adapter", "--on", "auto", "--weights", "/w"]) == 2
    assert "--on auto needs Ray" in (error := capsys.readouterr().err)
    assert "pip install 'npu-adapter-kit[fleet]'" in error
