"""The runner keeps the habits of all commands: paths, outputs, full disks, signals, languages."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
from pathlib import Path

import psutil
import pytest

from healthcheck.cli import main
from healthcheck.extensions.runner import examining
from healthcheck.text.language import VARIABLE
from tests.cli.test_full_disk import FULL, NO_SPACE, on_a_small_disk
from tests.cli.test_in_chinese import ENGLISH, said
from tests.extensions.runner.replaying import plain, recorded
from tests.report.test_schema import strict, written
from tests.security.test_signals_of_commands import SIGNALS, ended, started, until
from tests.security.test_workflow_commands import judge
from tests.security.test_workflow_commands import ran as ran_anywhere
from tests.service.launching import alive, eventually
from tests.support.commands import ran


@pytest.mark.smoke
def test_the_command_does_what_it_is_for(tmp_path: Path) -> None:
    done = ran("runner", "--level", "1", cwd=tmp_path)
    assert done.returncode == 1
    assert "runner/device-nodes" in done.stdout


def test_an_empty_path_is_no_path(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["runner", "--baseline", ""])
    assert stop.value.code == 2
    assert "the path is empty; is a variable unset?" in capsys.readouterr().err


def test_a_check_is_found_by_its_last_word(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "port"]) == 2
    assert "did you mean plan/port or service/port-free or runner/port?" in capsys.readouterr().err


@pytest.mark.process
@pytest.mark.parametrize("option", ["--json", "--junit"])
def test_a_folder_that_is_not_there_is_refused_and_not_made(
    option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    missing = tmp_path / "nope"
    assert main(["runner", "--allow-none", "--quiet", option, str(missing / "x")]) == 2
    assert f"there is no folder {missing}; make it first" in capsys.readouterr().err
    assert not missing.exists()


def test_only_json_goes_to_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["runner", "--allow-none", "--junit", "-"]) == 2
    assert "only --json can be -" in capsys.readouterr().err


@pytest.mark.process
@pytest.mark.parametrize("option", ["--json", "--junit", "--save"])
def test_a_requested_file_that_was_not_written_is_no_success(option: str, tmp_path: Path) -> None:
    done = ran(
        "runner", "--allow-none", "--quiet", option, FULL, TMPDIR=str(tmp_path), cwd=tmp_path
    )
    assert done.returncode == 4, done.stderr
    assert f"npu-adapter: cannot write {FULL}: {NO_SPACE}" in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout


@pytest.mark.process
@pytest.mark.skipif(not shutil.which("unshare"), reason="needs unshare of util-linux")
def test_where_there_is_no_room_at_all_it_is_said_and_the_report_is_shown(tmp_path: Path) -> None:
    small = tmp_path / "small"
    words = ["runner", "--allow-none", "--quiet", "--json", FULL, "--junit", FULL]
    # The second of its two files is the last: Python tries a folder with one file before it takes it for TMPDIR.
    done = on_a_small_disk(small, *words, room="size=8k,nr_inodes=2", TMPDIR=str(small))
    assert done.returncode == 4
    assert re.search("^Verdict: ", done.stdout, re.MULTILINE)
    said = f"npu-adapter: cannot write {FULL}: {NO_SPACE}; nor is there room for it in {small}"
    assert done.stderr.splitlines() == [said, said]


@pytest.mark.process
def test_a_report_of_a_machine_keeps_to_it(tmp_path: Path) -> None:
    strict().validate(written(tmp_path, "runner", "--allow-none", "--level", "1"))


@pytest.mark.slow
def test_no_command_of_an_argument_leaves() -> None:
    done = ran_anywhere("runner", "--baseline", "a\n##[error]b")
    assert done.returncode == 2, done.stderr
    assert b"error" in done.stderr
    judge(done)


@pytest.mark.parametrize(
    ("words", "meant"),
    [(["--npus", "0"], "应为 1 到"), (["--level", "7"], "参数 --level：7 不是以下之一：1, 2, 3")],
)
def test_a_refusal_in_chinese(
    words: list[str],
    meant: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(VARIABLE, "zh")
    status, shown = said(["runner", *words], capsys)
    assert status == 2
    assert meant in shown
    assert not ENGLISH.search(re.sub(r"`[^`]*`|'[^']*'|\"[^\"]*\"", "", shown)), shown


def test_what_is_said_of_a_machine(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = recorded(plain("hbm-taken-by-a-stale-process"))
    monkeypatch.setattr(examining, "RealWholeMachine", lambda: machine)
    monkeypatch.setenv(VARIABLE, "zh")
    _, shown = said(["runner", "--verbose"], capsys)
    assert "进程 2394858 (VLLMEngineCor)，内存 56313 MB" in shown
    measured = "a new file of 64 MiB in ."
    assert not ENGLISH.search(" ".join(shown.split()).replace(measured, "")), shown


@pytest.mark.process
@pytest.mark.parametrize("number", SIGNALS)
def test_a_runner_that_waits_for_a_driver_is_reported(
    number: signal.Signals, tmp_path: Path
) -> None:
    token = f"9{os.getpid() % 100_000:05}"
    mark = tmp_path / "asked"
    (tmp_path / "bin").mkdir()
    tool = tmp_path / "bin/npu-smi"
    tool.write_text(f"#!/bin/sh\n: > '{mark}'\nsleep {token} &\nsleep {token}\n")
    tool.chmod(0o755)
    process = started(
        "runner",
        "--json",
        str(tmp_path / "a.json"),
        "--save",
        str(tmp_path / "s"),
        path=str(tmp_path / "bin"),
    )
    until(mark.exists, process)
    tools = [each.pid for each in psutil.Process(process.pid).children(recursive=True)]
    try:
        assert "interrupted" in ended(process, number)
        report = json.loads((tmp_path / "a.json").read_text())
        assert report["headline"] == "inconclusive: interrupted"
        assert {check["outcome"] for check in report["checks"]} == {"skip"}
        assert not (tmp_path / "s").exists()
        assert eventually(lambda: not any(alive(pid) for pid in tools))
    finally:
        for each in psutil.process_iter(["cmdline"]):
            if token in (each.info["cmdline"] or []):
                each.kill()
