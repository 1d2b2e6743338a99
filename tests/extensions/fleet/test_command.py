"""`npu-adapter fleet` as people type it: a wrong word is refused, and a missing part is named."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from healthcheck.cli import main
from tests.support.commands import ran, started


def test_a_subcommand_is_needed() -> None:
    ended = ran("fleet", NPU_ADAPTER_LANG="zh")
    assert ended.returncode == 2
    assert "缺少必需的参数：COMMAND" in ended.stderr


@pytest.mark.parametrize("before", [(), ("--lang", "zh"), ("--la", "zh"), ("--lang=zh",)])
def test_a_subcommand_is_not_taken_for_the_command_of_its_name(before: tuple[str, ...]) -> None:
    ended = ran(*before, "fleet", "verify", "--help")
    assert (ended.returncode, "npu-adapter fleet verify" in ended.stdout) == (0, True), ended.stderr


@pytest.mark.smoke
def test_a_real_process_does_what_it_is_for(tmp_path: Path) -> None:
    ended = started("fleet", "verify", "none.jsonl", "--on", "local", "--out", "jobs", cwd=tmp_path)
    assert ended.returncode == 2
    assert "none.jsonl" in ended.stderr


def test_without_ray_the_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    assert main(["fleet", "runner", "--on", "auto", "--out", str(tmp_path / "machines")]) == 2
    assert "--on auto needs Ray" in (error := capsys.readouterr().err)
    assert "pip install 'npu-adapter-kit[fleet]'" in error
