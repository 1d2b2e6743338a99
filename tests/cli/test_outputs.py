"""Where results go is looked at before a run, and a run that is over is never lost."""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unicodedata
from pathlib import Path

import pytest

from healthcheck.cli import main, output
from healthcheck.core.records import Report, Verdict
from healthcheck.core.stages import STAGES
from healthcheck.stages.probe.checks import CHECKS
from tests.cli.test_habits import LONG, ROOT, WEIGHTS, verify
from tests.support.commands import ran


def whole(root: Path, *words: str) -> list[str]:
    return ["verify", str(root), "--weights", str(WEIGHTS), *words]


@pytest.mark.process
@pytest.mark.parametrize("option", ["--json", "--junit"])
@pytest.mark.parametrize("command", [("verify",), ("probe", "http://127.0.0.1:9")])
def test_a_folder_that_is_not_there_is_refused_and_not_made(
    option: str, command: tuple[str, ...], adapter: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = whole(adapter, "--quiet") if command == ("verify",) else [*command, "--quiet"]
    missing = adapter.parent / "nope"
    assert main([*words, option, str(missing / "x")]) == 2
    assert f"there is no folder {missing}; make it first" in capsys.readouterr().err
    assert not missing.exists()


@pytest.mark.process
@pytest.mark.parametrize(
    ("option", "given", "said"),
    [
        ("--json", "adapter", "it is a folder"),
        ("--out", "file", "Not a directory"),
        ("--out", "file/below", "Not a directory"),
        ("--out", "/proc/report", "cannot write to /proc/report"),
        ("--json", "/proc/x.json", "cannot write to /proc"),
        ("--json", LONG, "File name too long"),
        ("--junit", f"{LONG}/r.xml", "File name too long"),
        ("--out", LONG, "File name too long"),
        ("--out", f"new/{LONG}/below", "File name too long"),
    ],
)
def test_what_cannot_be_written_is_refused_before_anything_runs(
    option: str,
    given: str,
    said: str,
    adapter: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "file").touch()
    assert main(whole(adapter, option, str(tmp_path / given))) == 2
    captured = capsys.readouterr()
    assert said in captured.err
    assert captured.out == ""


def ran_as_an_ordinary_user(*words: str) -> subprocess.CompletedProcess[str]:
    """Run without root's right to enter every folder."""
    drop = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] if os.geteuid() == 0 else []
    if drop and (
        not shutil.which("setpriv") or subprocess.run([*drop, "true"], check=False).returncode
    ):
        pytest.skip("root cannot give up its rights here: no setpriv of util-linux, or it may not")
    return subprocess.run(
        [*drop, sys.executable, "-m", "healthcheck", *words],
        env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.mark.process
@pytest.mark.parametrize(
    ("option", "below"), [("--json", "r.json"), ("--junit", "r.xml"), ("--out", ""), ("--out", "o")]
)
def test_a_folder_that_one_may_not_enter_is_refused_before_anything_runs(
    option: str, below: str, adapter: Path, tmp_path: Path
) -> None:
    locked = tmp_path / "locked"
    locked.mkdir(mode=0)
    done = ran_as_an_ordinary_user(*whole(adapter, option, str(locked / below)))
    assert (done.returncode, done.stdout) == (2, "")
    assert "npu-adapter: cannot write" in done.stderr
    assert "Permission denied" in done.stderr


@pytest.mark.process
def test_any_name_that_a_file_may_have_is_written_to(adapter: Path, tmp_path: Path) -> None:
    written = tmp_path / ("é" * 120 + ".json")
    assert ran(*verify(adapter, "--quiet", "--json", str(written))).returncode == 0
    assert json.loads(written.read_text())["verdict"] == "ready"


@pytest.mark.process
def test_the_page_of_an_earlier_run_is_not_named_as_that_of_this_one(
    adapter: Path, tmp_path: Path
) -> None:
    out = tmp_path / "o"
    words = verify(adapter, "--quiet", "--out", str(out))
    assert f"Report: {out / 'report.html'}" in ran(*words).stdout
    (out / "report.json").unlink()
    (out / "report.json").mkdir()
    done = ran(*words, TMPDIR=str(tmp_path))
    assert (done.returncode, "Report:" in done.stdout) == (4, False)
    assert f"cannot write {out / 'report.json'}: Is a directory; it is in {tmp_path}" in done.stderr


@pytest.mark.process
def test_the_report_folder_is_made_and_files_may_go_into_it(adapter: Path, tmp_path: Path) -> None:
    out = tmp_path / "reports" / "today"
    done = ran(*verify(adapter, "--quiet", "--out", str(out), "--json", str(out / "r.json")))
    assert done.returncode == 0, done.stderr
    assert json.loads((out / "r.json").read_text())["verdict"] == "ready"
    assert done.stdout.splitlines() == [
        "Verdict: ready up to repo",
        f"Report: {out / 'report.html'}",
    ]


@pytest.mark.process
@pytest.mark.parametrize("command", ["diagnose", "doctor"])
def test_json_is_the_same_everywhere(
    command: str, log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words = {"diagnose": [str(log)], "doctor": []}[command]
    assert main([command, *words, "--json", "nope/x.json"]) == 2
    said = capsys.readouterr()
    assert (said.out, "there is no folder nope; make it first" in said.err) == ("", True)
    status = main([command, *words, "--json", "x.json"])
    capsys.readouterr()
    done = ran(command, *words, "--json", "-", cwd=tmp_path)
    assert done.returncode == status
    assert json.loads(done.stdout) == json.loads((tmp_path / "x.json").read_text())
    assert not (tmp_path / "-").exists()


@pytest.mark.process
def test_a_probe_without_a_server_leaves_no_folder(tmp_path: Path) -> None:
    done = ran("probe", "http://127.0.0.1:9", cwd=tmp_path)
    assert done.returncode == 3
    assert "Run folder" not in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_a_report_without_samples_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = str(tmp_path / "run")
    assert main(["probe", "http://127.0.0.1:9", "--out", folder]) == 3
    assert f"Report: {folder}/report.html" in capsys.readouterr().out


@pytest.mark.parametrize("command", ["diagnose", "verify"])
def test_no_control_character_of_its_input_reaches_the_terminal(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hostile = "\x1b[2J\u202eright to left\x85"
    log = tmp_path / "launch.log"
    log.write_text(f"RuntimeError: {hostile}\n")
    assert main([command, str(log) if command == "diagnose" else str(tmp_path / hostile)]) != 0
    shown = "".join(capsys.readouterr())
    assert "right to left" in shown
    assert not [sign for sign in shown if unicodedata.category(sign)[0] == "C" and sign != "\n"]


@pytest.mark.process
def test_a_device_is_written_to(adapter: Path) -> None:
    assert (
        ran(*verify(adapter, "--quiet", "--json", os.devnull, "--junit", os.devnull)).returncode
        == 0
    )


def test_a_report_that_cannot_be_written_after_all_is_kept_elsewhere(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    (tmp_path / "gone").touch()
    options = output_options(tmp_path / "gone" / "r.json")
    output.publish(options, Report(verdict=Verdict.READY, results=(), asked="repo only"))
    said = capsys.readouterr().err
    kept = Path(said.strip().rpartition(" ")[2])
    assert f"cannot write {options.json}" in said
    assert json.loads(kept.read_text())["verdict"] == "ready"


def output_options(file: Path) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    output.arguments(parser)
    return parser.parse_args(["--quiet", "--json", str(file)])


@pytest.mark.process
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"question": "1+1?", "answer": "2"}\n{"question": \n', "2"),
        ("", "has no problems"),
        (None, "is not a file"),
    ],
)
def test_a_data_set_is_read_before_the_launch(
    text: str | None, said: str, adapter: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dataset = tmp_path / "bad.json"
    if text is not None:
        dataset.write_text(text)
    assert main(whole(adapter, "--dataset", str(dataset), "--quiet")) == 2
    captured = capsys.readouterr()
    assert "bad.json" in captured.err
    assert said in captured.err
    assert captured.out == ""


@pytest.mark.process
def test_a_family_that_does_not_exist_is_refused_before_the_launch(adapter: Path) -> None:
    assert main(whole(adapter, "--family", "arithmetics", "--quiet")) == 2


@pytest.mark.process
def test_a_report_folder_of_another_run_is_refused_before_the_launch(
    adapter: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "out" / "configs").mkdir(parents=True)
    (tmp_path / "out" / "configs" / "probe.json").touch()
    assert main(whole(adapter, "--out", str(tmp_path / "out"), "--quiet")) == 2
    assert "holds the samples of a probe and no report" in capsys.readouterr().err


@pytest.mark.process
@pytest.mark.parametrize("stage", [stage.name for stage in STAGES[:3]])
def test_the_stages_that_were_asked_for_are_named(stage: str, adapter: Path) -> None:
    words = ["verify", str(adapter), "--weights", str(WEIGHTS), "--until", stage, "--json", "-"]
    asked = json.loads(ran(*words).stdout)["asked"]
    assert asked == ("repo only" if stage == "repo" else f"repo to {stage}")


@pytest.mark.process
def test_one_cause_of_many_checks_is_said_once(tmp_path: Path) -> None:
    words = ("probe", "http://127.0.0.1:9")
    loud = ran(*words, "--out", str(tmp_path / "loud")).stdout
    quiet = ran(*words, "--quiet", "--out", str(tmp_path / "quiet")).stdout
    assert (
        loud.count("no server answers at http://127.0.0.1:9") == 2
    )  # with the check, and as the next step
    assert re.search(rf"probe/completes +and {len(CHECKS) - 1} more$", loud, re.MULTILINE)
    assert quiet.count("no server answers") == 1
    assert "probe/completes and " in quiet
    assert len(json.loads((tmp_path / "loud" / "report.json").read_text())["checks"]) == len(CHECKS)
