"""What could not be written never passes for a verdict: exit status 4, and one line that says so."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import select
import shutil
import subprocess
import sys
import termios
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from healthcheck.errors import KitFailure
from healthcheck.report import folder
from healthcheck.system.files import write_atomically
from tests.cli.test_habits import ROOT, verify
from tests.support.commands import ran
from tests.support.repositories import GOOD_SCRIPT, repository

FULL = "/dev/full"
pytestmark = pytest.mark.skipif(not Path(FULL).exists(), reason=f"needs {FULL}")
NO_SPACE = "No space left on device"


def started_into(stdout: int, *words: str, **variables: str) -> tuple[int, str]:
    """As a process of its own: the exit status and what was said on standard error."""
    done = subprocess.run(
        [sys.executable, "-m", "healthcheck", *words],
        env={**os.environ, "PYTHONPATH": str(ROOT), **variables},
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    return done.returncode, done.stderr


def ran_into(stdout: int, *words: str, **variables: str) -> tuple[int, str]:
    """The same in this process."""
    done = ran(*words, stdout=stdout, **variables)
    return done.returncode, done.stderr


Into = Callable[..., tuple[int, str]]


def ran_into_a_full_disk(*words: str, into: Into = ran_into) -> tuple[int, str]:
    full = os.open(FULL, os.O_WRONLY)
    try:
        return into(full, *words)
    finally:
        os.close(full)


def ran_for_nobody(*words: str, into: Into = ran_into, **variables: str) -> tuple[int, str]:
    """With a standard output whose reader has gone."""
    reader, writer = os.pipe()
    os.close(reader)
    try:
        return into(writer, *words, **variables)
    finally:
        os.close(writer)


LOST = f"npu-adapter: cannot write standard output: {NO_SPACE}\n"


@pytest.mark.parametrize(
    "words",
    [
        ("explain",),
        ("--help",),
        pytest.param(("--version",), marks=pytest.mark.process),
        pytest.param(("doctor",), marks=pytest.mark.process),
    ],
)
def test_a_full_disk_under_standard_output(words: tuple[str, ...]) -> None:
    assert ran_into_a_full_disk(*words) == (4, LOST)


@pytest.mark.process
def test_a_full_disk_under_the_standard_output_of_a_process() -> None:
    assert ran_into_a_full_disk("explain", into=started_into) == (4, LOST)


@pytest.mark.process
@pytest.mark.parametrize("how", [(), ("--quiet",), ("--json", "-")])
def test_a_ready_repository_is_not_told_to_be_unready_by_a_full_disk(
    how: tuple[str, ...], adapter: Path
) -> None:
    status, said = ran_into_a_full_disk(*verify(adapter, *how))
    assert status == 4
    assert said.splitlines()[-1] == f"npu-adapter: cannot write standard output: {NO_SPACE}"
    assert "Traceback" not in said


@pytest.mark.process
def test_files_are_written_although_nothing_can_be_printed(adapter: Path, tmp_path: Path) -> None:
    assert ran_into_a_full_disk(*verify(adapter, "--json", str(tmp_path / "r.json")))[0] == 4
    assert json.loads((tmp_path / "r.json").read_text())["verdict"] == "ready"


@pytest.mark.process
@pytest.mark.parametrize("into", [started_into, ran_into])
@pytest.mark.parametrize(
    ("script", "status", "unbuffered"), [("deploy.sh", 0, "1"), ("scripts/deploy.sh", 1, "")]
)
def test_a_reader_that_left_changes_no_verdict(
    script: str, status: int, unbuffered: str, into: Into, tmp_path: Path
) -> None:
    root = repository(tmp_path / "adapter", {script: GOOD_SCRIPT})
    written = tmp_path / "r.json"
    done = ran_for_nobody(
        *verify(root, "--json", str(written)), into=into, PYTHONUNBUFFERED=unbuffered
    )
    assert done[0] == status
    assert "npu-adapter:" not in done[1]
    assert written.is_file()


def test_a_reader_that_left_is_not_spoken_of() -> None:
    assert ran_for_nobody("explain") == (0, "")


@pytest.mark.process
def test_a_reader_that_left_a_process_is_not_spoken_of() -> None:
    assert ran_for_nobody("explain", into=started_into) == (0, "")


@pytest.mark.process
def test_standard_error_without_a_reader_changes_no_verdict(adapter: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = ran(*verify(adapter), stderr=writer)
    os.close(writer)
    assert done.returncode == 0
    assert "Verdict: ready" in done.stdout


@pytest.mark.process
@pytest.mark.parametrize(
    ("command", "option"),
    [
        ("verify", "--json"),
        ("verify", "--junit"),
        ("probe", "--json"),
        ("diagnose", "--json"),
        ("doctor", "--json"),
    ],
)
def test_a_requested_file_that_was_not_written_is_no_success(
    command: str, option: str, adapter: Path, log: Path, tmp_path: Path
) -> None:
    words = {
        "verify": verify(adapter, "--quiet"),
        "probe": ["probe", "http://127.0.0.1:9", "--quiet"],
        "diagnose": ["diagnose", str(log)],
        "doctor": ["doctor"],
    }[command]
    done = ran(*words, option, FULL, TMPDIR=str(tmp_path), cwd=tmp_path)
    assert done.returncode == 4, done.stderr
    assert f"npu-adapter: cannot write {FULL}: {NO_SPACE}" in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout


@pytest.mark.process
def test_a_report_that_could_not_be_written_is_kept_and_shown(
    adapter: Path, tmp_path: Path
) -> None:
    done = ran(*verify(adapter, "--quiet", "--json", FULL), TMPDIR=str(tmp_path))
    assert "Verdict: ready" in done.stdout
    kept = Path(done.stderr.strip().rpartition(" ")[2])
    assert kept.is_relative_to(tmp_path)
    assert json.loads(kept.read_text())["verdict"] == "ready"


def on_a_small_disk(
    place: Path, *words: str, room: str = "size=8k", **variables: str
) -> subprocess.CompletedProcess[str]:
    """Run with a file system of that much room at this place; skips where this user may mount none."""
    place.mkdir()
    mount = f'mount -t tmpfs -o {room} none "$0" || exit 99; exec "$@"'
    done = subprocess.run(
        ["unshare", "--map-root-user", "--mount", "sh", "-c", mount, str(place), sys.executable, "-m", "healthcheck",
         *words],
        env={**os.environ, "PYTHONPATH": str(ROOT), **variables}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode == 99 or done.stderr.startswith("unshare:"):
        pytest.skip(f"this user may mount nothing: {done.stderr}")
    return done


@pytest.mark.process
@pytest.mark.skipif(not shutil.which("unshare"), reason="needs unshare of util-linux")
@pytest.mark.parametrize("command", ["new", "verify --out", "verify --json"])
def test_a_disk_that_fills_up(command: str, adapter: Path, tmp_path: Path) -> None:
    small = tmp_path / "small"
    words = {
        "new": ["new", str(small / "new"), "--defaults", "--task", "text-generation"],
        "verify --out": verify(adapter, "--quiet", "--out", str(small / "out")),
        "verify --json": verify(adapter, "--quiet", "--json", str(small / "r.json")),
    }[command]
    done = on_a_small_disk(small, *words, TMPDIR=str(tmp_path))
    assert done.returncode == 4, done
    assert done.stderr.count("\n") == 1
    assert NO_SPACE in done.stderr


def test_the_error_names_the_file_that_was_asked_for() -> None:
    with pytest.raises(OSError, match=NO_SPACE) as error:
        write_atomically(Path(FULL), b"x")
    assert (error.value.errno, error.value.filename) == (errno.ENOSPC, FULL)
    with pytest.raises(KitFailure, match=f"cannot write {FULL}: {NO_SPACE}"):
        folder.save(Path(FULL), b"x")


@pytest.mark.process
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("printed", ["print('here', flush=True)", "print('here', file=sys.stderr)"])
def test_what_is_flushed_is_read_at_once(printed: str, unbuffered: str) -> None:
    program = f"import sys\nfrom healthcheck.cli import outlets\nwith outlets.lasting():\n    {printed}\n    sys.stdin.readline()"
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": unbuffered}
    with subprocess.Popen(
        [sys.executable, "-c", program], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    ) as process:  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None
        readable, _, _ = select.select([process.stdout], [], [], 60)
        process.stdin.write(b"\n")
        process.stdin.flush()
        assert readable
        assert process.stdout.readline() == b"here\n"


def waiting_bytes(pipe: int) -> int:
    """What is in the pipe and not yet read."""
    return int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder)


@pytest.mark.process
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_slow_reader_of_a_non_blocking_pipe_gets_everything(
    unbuffered: str, adapter: Path
) -> None:
    reader, writer = os.pipe()
    holds = fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, select.PIPE_BUF)
    os.set_blocking(writer, False)
    command = [sys.executable, "-m", "healthcheck", *verify(adapter, "--json", "-")]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": unbuffered}
    read = bytearray()
    with (
        open(reader, "rb", buffering=0) as pipe,
        subprocess.Popen(
            command, env=environment, stdout=writer, stderr=subprocess.PIPE, text=True
        ) as process,
    ):
        os.close(writer)
        while waiting_bytes(reader) < holds and process.poll() is None:
            time.sleep(0.01)
        while piece := pipe.read(512):
            read += piece
            time.sleep(0.001)
        assert process.stderr is not None
        said = process.stderr.read()
    assert (process.returncode, "Traceback" in said) == (0, False), said
    assert len(read) > holds
    assert json.loads(read)["verdict"] == "ready"


@pytest.mark.process
def test_a_closed_standard_output_leaves_nothing_open() -> None:
    command = [
        sys.executable,
        "-X",
        "dev",
        "-W",
        "error",
        "-m",
        "healthcheck",
        "explain",
        "plan/port",
    ]
    done = subprocess.run(
        ["sh", "-c", 'exec "$@" >&-', "sh", *command], env={**os.environ, "PYTHONPATH": str(ROOT)},
        stderr=subprocess.PIPE, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 4
    assert done.stderr == "npu-adapter: cannot write standard output: Bad file descriptor\n"


@pytest.mark.process
def test_a_closed_standard_output_is_one_that_could_not_be_written(
    adapter: Path, tmp_path: Path
) -> None:
    written = tmp_path / "r.json"
    command = [sys.executable, "-m", "healthcheck", *verify(adapter, "--json", str(written))]
    done = subprocess.run(
        ["sh", "-c", 'exec "$@" >&-', "sh", *command], env={**os.environ, "PYTHONPATH": str(ROOT)},
        stderr=subprocess.PIPE, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 4
    assert done.stderr.endswith("npu-adapter: cannot write standard output: Bad file descriptor\n")
    assert json.loads(written.read_text())["verdict"] == "ready"
