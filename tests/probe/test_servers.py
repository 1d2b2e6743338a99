"""The servers of a probe that are named: what is refused before anything is asked."""

from __future__ import annotations

from pathlib import Path

import pytest

from healthcheck.cli import main


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["http://h", "--replicas", "2"],
            "--replicas is for a server that this command launches: give --on ADDRESS",
        ),
        (["http://h", "--weights", "/w"], "--weights is for a server that this command launches"),
        (["adapter"], "'adapter' is not the address of a server"),
    ],
)
def test_what_does_not_go_together_is_wrong_usage(
    words: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["probe", *words]) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "report").exists()
