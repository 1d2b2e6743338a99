"""The real machine: commands that hang, flood or are missing; files that are none."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

from healthcheck.machine.installed import ASK_VERSIONS
from healthcheck.machine.interface import MAX_PATHS, NO_PROGRAM, OUTPUT_BYTES
from healthcheck.machine.real import RealMachine
from healthcheck.system import processes

MACHINE = RealMachine()


@pytest.mark.process
def test_a_command_with_its_status_and_both_streams():
    output = MACHINE.run("sh", "-c", "echo out; echo err >&2; exit 3")
    assert (output.status, output.stdout, output.stderr) == (3, "out\n", "err\n")
    assert output.text == "out\nerr"


@pytest.mark.process
def test_a_command_speaks_english_and_reads_nothing(monkeypatch):
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    assert MACHINE.run("sh", "-c", "cat; printenv LC_ALL").stdout == "C\n"


@pytest.mark.process
def test_a_program_that_is_not_there():
    output = MACHINE.run("no-such-program-of-mine")
    assert output.trouble == NO_PROGRAM
    assert output.missing


@pytest.mark.process
def test_a_program_that_may_not_run(tmp_path):
    (tmp_path / "tool").write_text("#!/bin/sh\n")
    assert "cannot be run" in MACHINE.run(str(tmp_path / "tool")).trouble


@pytest.mark.process
def test_a_flood_is_drained_and_cut():
    output = MACHINE.run(
        sys.executable,
        "-c",
        "import sys; sys.stdout.write('x' * 5_000_000); print('end', file=sys.stderr)",
    )
    assert len(output.stdout) == OUTPUT_BYTES
    assert output.status == 0
    assert output.stderr == "end\n"


@pytest.mark.process
def test_a_hang_ends_with_all_that_it_started(tmp_path):
    pids = tmp_path / "pids"
    output = MACHINE.run(
        "sh", "-c", f"echo begun; sleep 77 & echo $! $$ > {pids}; wait", timeout_s=1
    )
    assert output.trouble == "no end within 1 s"
    assert output.status is None
    assert output.stdout == "begun\n"
    assert not [pid for pid in map(int, pids.read_text().split()) if processes.process(pid)]


@pytest.mark.process
def test_what_a_command_leaves_behind_is_ended(tmp_path):
    pids = tmp_path / "pids"
    assert MACHINE.run("sh", "-c", f"sleep 77 >/dev/null 2>&1 & echo $! > {pids}").status == 0
    left, end = int(pids.read_text()), time.monotonic() + 60
    while processes.process(left) and time.monotonic() < end:
        time.sleep(0.02)
    assert processes.process(left) is None


def test_files_that_may_be_read_and_others(tmp_path):
    (tmp_path / "file").write_bytes(b"Version=25.5.1\n\xff")
    (tmp_path / "large").write_bytes(b"x" * (OUTPUT_BYTES + 9))
    os.mkfifo(tmp_path / "pipe")
    assert MACHINE.read(str(tmp_path / "file")) == "Version=25.5.1\n�"
    assert len(MACHINE.read(str(tmp_path / "large"))) == OUTPUT_BYTES
    assert "Max open files" in MACHINE.read("/proc/self/limits")
    for path in ("pipe", "absent", "."):
        assert MACHINE.read(str(tmp_path / path)) is None
    assert MACHINE.read("/dev/zero") is None


def test_paths_with_mode_and_target(tmp_path):
    (tmp_path / "cann-9.0.0").mkdir()
    (tmp_path / "cann").symlink_to("cann-9.0.0")
    (tmp_path / "broken").symlink_to("nowhere")
    found = {
        entry.path.removeprefix(f"{tmp_path}/"): entry for entry in MACHINE.paths(f"{tmp_path}/*")
    }
    assert found.keys() == {"cann", "cann-9.0.0"}
    assert found["cann"].target == str(tmp_path / "cann-9.0.0")
    (null,) = MACHINE.paths("/dev/null")
    assert (null.mode, null.owner, null.readable) == (0o666, "root", True)


def test_a_crowded_folder_is_cut(tmp_path):
    for number in range(MAX_PATHS + 5):
        (tmp_path / str(number)).touch()
    assert len(MACHINE.paths(f"{tmp_path}/*")) == MAX_PATHS


@pytest.mark.process
def test_the_python_of_vllm_is_the_one_that_is_asked(tmp_path, monkeypatch):
    for name, text in (
        ("vllm", f"#!{tmp_path}/python-of-vllm\n"),
        ("python-of-vllm", f'#!/bin/sh\necho "of vllm"; exec {sys.executable} "$@"\n'),
        ("python3", "#!/bin/sh\necho other\n"),
    ):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert MACHINE.python(ASK_VERSIONS).stdout.startswith("of vllm\n@npu-adapter ")
    (tmp_path / "vllm").unlink()
    assert MACHINE.python(ASK_VERSIONS).stdout == "other\n"


@pytest.mark.process
def test_environment_scripts_are_sourced_before_the_python_runs(tmp_path, monkeypatch):
    (tmp_path / "a b.sh").write_text("export FROM_A=1; echo noise; false\n")
    (tmp_path / "atb.sh").write_text('export FROM_ATB="$FROM_A-$NEVER_SET"\n')
    (tmp_path / "python3").write_text('#!/bin/sh\necho "$FROM_ATB" "${1##*/}" "$2"\n')
    (tmp_path / "python3").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    scripts = (str(tmp_path / "a b.sh"), str(tmp_path / "atb.sh"))
    assert (
        MACHINE.python(Path("/kit/any_program.py"), "2", sourced=scripts).stdout
        == "1- any_program.py 2\n"
    )


def test_reading_a_directory_leaves_no_descriptor_open(tmp_path):
    before = os.listdir("/proc/self/fd")
    assert MACHINE.read(str(tmp_path)) is None
    assert os.listdir("/proc/self/fd") == before
