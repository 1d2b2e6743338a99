"""Nothing that deploy.sh started survives: not a stop, not Ctrl-C (once or twice), not kill -9 of the kit itself."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import uuid
from pathlib import Path

import pytest

from healthcheck.core.records import Outcome
from healthcheck.stages.service.checks import END_CHECKS
from healthcheck.stages.service.records import LaunchOutcome
from tests.service.launching import SERVER, alive, eventually, free_port, service, with_word

pytestmark = pytest.mark.process

ROOT = Path(__file__).parents[2]
stays_up, stops = END_CHECKS
ESCAPES = {
    "in the background": "sleep 600 WORD",
    "in a session of its own": "setsid sleep 600 WORD",
    "with no parent left": "(setsid sleep 600 WORD &)",
    "twice removed": "(setsid setsid setsid sleep 600 WORD &)",
    "without the environment": "(env -i /usr/bin/setsid sleep 600 WORD &)",
    "deaf to SIGTERM": "(trap '' TERM HUP INT; exec setsid sleep 600 WORD)",
    "stopped": "sleep 600 WORD & until grep -q time.sleep /proc/$!/cmdline; do sleep 0.1; done; kill -STOP $!",
}
KIT = """
import sys
from pathlib import Path
from healthcheck.stages.service.facts import Service
from healthcheck.core.progress import Silent
folder, port = Path(sys.argv[1]), int(sys.argv[2])
print("begun", flush=True)
with Service(folder, folder, log=folder / "log", progress=Silent(), port=port) as running:
    print(running.launch.outcome.value, flush=True)
    import time
    time.sleep(600)
"""


def word() -> str:
    return f"stray-{uuid.uuid4().hex}"


def sleeper(marker: str, start: str) -> str:
    """The command with a sleeper that carries the marker on its command line: `sleep` itself takes no words."""
    return start.replace(
        "sleep 600 WORD", f"'{sys.executable}' -c 'import time; time.sleep(600)' {marker}"
    )


@pytest.mark.parametrize("escape", ESCAPES)
def test_a_process_that_got_away_is_ended(tmp_path, escape):
    marker = word()
    script = f"{sleeper(marker, ESCAPES[escape])} &\nexec SERVER PORT"
    with service(tmp_path, script) as running:
        assert running.launch.outcome is LaunchOutcome.READY
        assert eventually(lambda: bool(with_word(marker)))
        stopped = running.stop(grace_s=2 if escape == "deaf to SIGTERM" else 30)
    assert not with_word(marker)
    assert not stopped.survivors
    assert bool(stopped.killed) == (escape == "deaf to SIGTERM")


def test_sigkill_is_a_warning(tmp_path):
    with service(tmp_path, "exec SERVER PORT stubborn") as running:
        running.stop(grace_s=0.5)
        result = stops.judge(running.ended())
    assert result.outcome is Outcome.WARN
    assert "SIGKILL" in result.findings[0].seen


def test_an_error_inside_the_block_stops_the_service_too(tmp_path):
    seen = []

    def fails_inside():
        with service(tmp_path, "exec SERVER PORT") as running:
            seen.append(running.launch.pid)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fails_inside()
    assert not alive(seen[0])


def kit(folder: Path, script: str, **more) -> tuple[subprocess.Popen[str], int]:
    """The kit as a process of its own, over a deploy.sh."""
    port = free_port()
    (folder / "deploy.sh").write_text(
        script.replace("SERVER", SERVER).replace("PORT", str(port)) + "\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", KIT, str(folder), str(port)],
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        **more,
    )
    assert process.stdout.readline() == "begun\n"
    return process, port


DEATHS = {
    "kill -9": [signal.SIGKILL],
    "SIGTERM": [signal.SIGTERM],
    "Ctrl-C": [signal.SIGINT],
    "Ctrl-C twice": [signal.SIGINT, signal.SIGINT],
    "a closed terminal": [signal.SIGHUP],
}


@pytest.mark.parametrize(
    ("death", "phase"),
    [*((death, "ready") for death in DEATHS), ("kill -9", "loading"), ("Ctrl-C", "loading")],
)
def test_nothing_survives_the_kit(tmp_path, death, phase):
    marker = word()
    stray = sleeper(marker, "(setsid sleep 600 WORD &)")
    process, _ = kit(
        tmp_path, f"{stray}\n" + ("exec SERVER PORT" if phase == "ready" else "sleep 600")
    )
    try:
        if phase == "ready":
            assert process.stdout.readline() == "ready\n"
        assert eventually(lambda: bool(with_word(marker)))
        for number in DEATHS[death]:
            process.send_signal(number)
        process.wait(90)
        assert eventually(lambda: not with_word(marker))
        assert eventually(lambda: not with_word(str(tmp_path)))
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def test_a_stubborn_server_does_not_survive_two_interruptions(tmp_path):
    process, port = kit(tmp_path, "exec SERVER PORT stubborn", stderr=subprocess.DEVNULL)
    try:
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGINT)
        assert not eventually(lambda: process.poll() is not None, 0.7), (
            "the first one waits for the server to end"
        )
        process.send_signal(signal.SIGINT)
        process.wait(90)
        assert eventually(lambda: not with_word(str(port))), (
            "a guardian outlives an interrupted kit by its grace"
        )
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def test_the_guardian_s_own_death_is_made_up_for(tmp_path):
    marker = word()
    with service(
        tmp_path, sleeper(marker, "(setsid sleep 600 WORD &)") + "\nexec SERVER PORT"
    ) as running:
        guardian = os.getpgid(running.launch.pid) and _parent(running.launch.pid)
        os.kill(guardian, signal.SIGKILL)
        assert eventually(lambda: not alive(running.launch.pid))
        assert with_word(marker)
        stopped = running.stop()
    assert not stopped.survivors
    assert not with_word(marker)


def _parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
