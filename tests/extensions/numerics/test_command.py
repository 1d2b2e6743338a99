"""`npu-adapter numerics` after a failure and after a pass: what it says to do next."""

from __future__ import annotations

from pathlib import Path

import pytest

from healthcheck.cli import main
from healthcheck.extensions.simulator import Behaviour, Simulator
from tests.support.commands import started

RUN_FOLDER = {"en": "Run folder: ", "zh": "运行目录："}


def last_lines(
    faults: tuple[str, ...], folder: Path, capsys: pytest.CaptureFixture[str]
) -> tuple[int, str, str]:
    """The exit status, the last line, and what all of it said."""
    with Simulator(Behaviour(faults=faults)) as simulator:
        status = main(
            [
                "numerics",
                simulator.url,
                "--longest",
                "400",
                "--max-batch",
                "3",
                "--pairs",
                "4",
                "--out",
                str(folder),
            ]
        )
    said = capsys.readouterr().out
    return status, said.splitlines()[-1], said


@pytest.mark.process
@pytest.mark.parametrize("language", RUN_FOLDER)
def test_a_failed_run_says_where_the_flag_goes_and_is_no_reference(
    language: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("NPU_ADAPTER_LANG", language)
    monkeypatch.setenv("COLUMNS", "400")
    status, last, said = last_lines(("prefix-cache-garbles",), tmp_path / "run", capsys)
    assert status == 1
    assert last == f"{RUN_FOLDER[language]}{tmp_path / 'run'}"
    (following,) = (line for line in said.splitlines() if line.startswith(("Next: ", "下一步：")))
    assert "--no-enable-prefix-caching" in following
    assert "vllm serve" in following
    assert "deploy.sh" in following


@pytest.mark.process
def test_a_run_that_is_ready_is_offered_as_a_reference(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, last, _ = last_lines((), tmp_path / "run", capsys)
    assert status == 0
    assert last.endswith(f"npu-adapter numerics URL --reference {tmp_path / 'run'})")


@pytest.mark.smoke
def test_a_real_process_does_what_it_is_for(tmp_path: Path) -> None:
    with Simulator(Behaviour()) as simulator:
        ended = started(
            "numerics", simulator.url, "--max-batch", "2", "--out", "numerics", cwd=tmp_path
        )
    assert ended.returncode in {0, 3}, ended.stderr
    assert "Traceback" not in ended.stderr
