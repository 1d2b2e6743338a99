"""The leash: whatever its parent was deaf to, the command hears SIGINT when the parent is gone."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from healthcheck.extensions.fleet import leash

pytestmark = pytest.mark.process

COMMAND = (
    "import sys, time\n"
    "try:\n"
    "    print('up', flush=True); time.sleep(600)\n"
    "except KeyboardInterrupt:\n"
    "    sys.exit(7)\n"
)


def block() -> None:
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})


def ignore() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def held(log: Path, *command: str, deaf=None) -> subprocess.Popen[bytes]:
    terms = ("-I", "-S", leash.__file__, "60", "node", str(log))
    return subprocess.Popen(
        [sys.executable, *terms, *command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        preexec_fn=deaf,  # noqa: PLW1509 - one thread
    )


@pytest.mark.parametrize("deaf", [block, ignore])
def test_the_end_of_the_input_is_heard(tmp_path: Path, deaf) -> None:
    log = tmp_path / "log"
    with held(log, sys.executable, "-I", "-c", COMMAND, deaf=deaf) as process:
        while not (log.exists() and b"up" in log.read_bytes()):
            time.sleep(0.05)
        output, _ = process.communicate()
    assert output == b"7\n"


def test_the_status_of_a_command_that_ends_by_itself(tmp_path: Path) -> None:
    with held(tmp_path / "log", "/bin/sh", "-c", "echo said; exit 3") as process:
        assert process.stdout is not None
        assert process.stdout.read() == b"3\n"
    assert (tmp_path / "log").read_text() == "said\n"
