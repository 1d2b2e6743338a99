"""`probe --client aisbench`: the evaluation client asks, and its report is read."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from healthcheck.cli import main
from healthcheck.extensions.simulator import Behaviour, Simulator
from healthcheck.stages.probe.records import ProbeSettings
from healthcheck.stages.probe.run.bank import bank
from tests.extensions.service_report.made_reports import RIGHT, WRONG, made
from tests.support.aisbench import ENVIRONMENT

pytestmark = pytest.mark.process
URL = "http://127.0.0.1:9"
STAND_IN = f"""#!{sys.executable}
import os, pathlib, shutil, sys, time
words = sys.argv[1:]
print("Progress: 50%|##   | 2/4 [00:01<00:01]", flush=True)
kept = pathlib.Path(os.environ["TMPDIR"])
(kept / "environment").write_text(repr(sorted(os.environ)))
(kept / "pid").write_text(str(os.getpid()))
configs = pathlib.Path(words[words.index("--config-dir") + 1])
(kept / "model").write_text((configs / "models" / "npu_adapter_task.py").read_text())
if (kept / "report").is_dir():
    shutil.copytree(kept / "report", pathlib.Path(words[words.index("--work-dir") + 1]) / "20260326_151326")
else:
    print("ConnectionRefusedError: nobody \\x1b[31mlistens")
if (kept / "stays").exists():
    time.sleep(600)
"""


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program ais_bench on PATH; what it is to do, and what it saw, is in the folder."""
    place = tmp_path / "bin" / "ais_bench"
    place.parent.mkdir()
    place.write_text(STAND_IN)
    place.chmod(0o755)
    monkeypatch.setenv("PATH", f"{place.parent}:{os.environ['PATH']}")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-never-passed-on")
    return tmp_path


def reports(folder: Path) -> None:
    for name, data in made([[RIGHT] * 5, [RIGHT, WRONG, WRONG, WRONG, WRONG]] * 4).items():
        place = folder / "report" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)


def command(out: Path, *more: str) -> list[str]:
    return [
        "probe",
        URL,
        "--client",
        "aisbench",
        "--family",
        "arithmetic",
        "--problems",
        "8",
        "--out",
        str(out),
        *more,
    ]


def test_the_report_of_the_client_is_read(
    stand_in: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    reports(stand_in)
    assert main(command(stand_in / "out", "--json", "-")) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["stopped"] == ""
    assert "OPENAI_API_KEY" not in (stand_in / "environment").read_text()
    assert f"'url': '{URL}'" in (stand_in / "model").read_text()
    assert len((stand_in / "out/aisbench-problems/test.jsonl").read_text().splitlines()) == 8


def test_a_client_that_reports_nothing_is_an_error_with_its_last_words(
    stand_in: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(command(stand_in / "out")) == 3
    said = capsys.readouterr().err
    assert "AISBench measured nothing: ConnectionRefusedError: nobody" in said
    assert "\x1b" not in said


def test_what_it_measured_before_the_deadline_is_read(
    stand_in: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    reports(stand_in)
    (stand_in / "stays").touch()
    assert main(command(stand_in / "out", "--client-deadline", "3")) == 3
    assert "AISBench did not come to its end: no end within 3 s" in capsys.readouterr().out
    assert not Path(f"/proc/{(stand_in / 'pid').read_text()}").exists()


def test_ctrl_c_leaves_no_process_and_keeps_what_was_measured(stand_in: Path) -> None:
    reports(stand_in)
    (stand_in / "stays").touch()
    words = [sys.executable, "-I", "-m", "healthcheck", *command(stand_in / "out")]
    with subprocess.Popen(
        words, cwd="/", stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as kit:
        until = time.monotonic() + 60
        while not (stand_in / "model").exists() and time.monotonic() < until:
            time.sleep(0.1)
        time.sleep(1)
        kit.send_signal(signal.SIGINT)
        said, _ = kit.communicate(timeout=60)
    assert "AISBench did not come to its end: interrupted" in said
    assert "avg@5" in said
    assert not Path(f"/proc/{(stand_in / 'pid').read_text()}").exists()


def test_without_it_a_line_says_how_to_get_it(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main(["probe", URL, "--client", "aisbench", "--out", str(tmp_path / "out")]) == 2
    assert "pip install ais-bench-benchmark" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (("--resume", "x"), "--resume is for the kit's own probe"),
        (("--threshold", ".5"), "--client takes no threshold"),
    ],
)
def test_what_the_client_has_not_is_refused(
    more: tuple[str, ...], says: str, stand_in: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["probe", URL, "--client", "aisbench", "--family", "arithmetic", *more]
    assert main(words) == 2
    assert says in capsys.readouterr().err


@pytest.mark.peer
@pytest.mark.timeout(300)
def test_the_real_client_measures_the_simulated_server(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert (ENVIRONMENT / "ready").is_file(), (
        "there is no .venv-aisbench: run `make test-engines`, which makes it"
    )
    answers = {each.question: each.answer for each in bank(ProbeSettings(url="", problems=8))}
    with Simulator(Behaviour(answers=answers)) as server:
        words = [word.replace(URL, server.url) for word in command(tmp_path / "out")]
        assert main([*words, "--aisbench-python", str(ENVIRONMENT)]) == 0
    said = capsys.readouterr().out
    assert "8 problems × 5 samples, 40 answered" in said
    assert "the stock 4-shot GSM8K chat prompt" in said
