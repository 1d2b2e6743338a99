"""Whatever ends the kit, or one of the processes around a script: nothing is left, and findings are reported."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.service.launching import eventually
from tests.support.repositories import repository

pytestmark = pytest.mark.process

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
SLEEPS = "#!/bin/bash\nsetsid sleep 7{token} & (setsid sleep 8{token} &)\ntrap '' TERM HUP INT\n: > mark\nwhile :; do :; done\n"
MODES = {"isolated": "", "confined": "userns", "unconfined": "userns,landlock"}
PATIENCE_S = 40.0


@pytest.fixture
def token() -> Iterator[str]:
    """A number of seconds that no other process sleeps for."""
    number = str(100_000 + os.getpid() % 100_000)
    yield number
    for process in sleeping(number):
        process.kill()


def sleeping(token: str) -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter(["cmdline"]):
        words = process.info["cmdline"] or []
        if any(word in {f"7{token}", f"8{token}"} for word in words):
            found.append(process)
    return found


def started(tmp_path: Path, mode: str, token: str) -> subprocess.Popen[bytes]:
    """A verification in the middle of its script."""
    root = repository(tmp_path / "r", {"deploy.sh": SLEEPS.replace("{token}", token)})
    for name in ("w", "temporary"):
        (tmp_path / name).mkdir()
    (tmp_path / "w/config.json").write_text("{}")
    (tmp_path / "temporary").chmod(0o755)
    command = (
        sys.executable,
        str(HERE / "lacking.py"),
        MODES[mode],
        sys.executable,
        "-I",
        "-m",
        "healthcheck",
    )
    words = (
        "verify",
        str(root),
        "--weights",
        str(tmp_path / "w"),
        "--until",
        "plan",
        "--unconfined",
        "--quiet",
    )
    kit = subprocess.Popen(
        (*command, *words, "--json", str(tmp_path / "report.json")),
        cwd=tmp_path, env={**os.environ, "LACKING_PACKAGE": str(ROOT), "TMPDIR": str(tmp_path / "temporary")},
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert runs(token)
    return kit


def runs(token: str) -> bool:
    return eventually(lambda: bool(sleeping(token)), PATIENCE_S)


def gone(token: str) -> bool:
    return eventually(lambda: not sleeping(token), PATIENCE_S)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "number",
    [
        pytest.param(signal.SIGINT, marks=pytest.mark.slow),
        signal.SIGTERM,
        pytest.param(signal.SIGHUP, marks=pytest.mark.slow),
    ],
)
def test_a_signal_ends_it_with_a_report(
    number: signal.Signals, mode: str, tmp_path: Path, token: str
) -> None:
    kit = started(tmp_path, mode, token)
    kit.send_signal(number)
    _, complained = kit.communicate(timeout=120)
    assert kit.returncode == 3, complained.decode()
    assert json.loads((tmp_path / "report.json").read_text())["verdict"] == "inconclusive"
    assert gone(token)
    assert os.listdir(tmp_path / "temporary") == []


def jails(kit: subprocess.Popen[bytes]) -> list[psutil.Process]:
    return [
        child
        for child in psutil.Process(kit.pid).children()
        if "isolated.py" in " ".join(child.cmdline())
    ]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "victim",
    [
        "kit",
        pytest.param("jail", marks=pytest.mark.slow),
        pytest.param("watcher", marks=pytest.mark.slow),
    ],
)
def test_nothing_runs_on_where_one_of_them_is_killed(
    victim: str, mode: str, tmp_path: Path, token: str
) -> None:
    kit = started(tmp_path, mode, token)
    victims = {"kit": [psutil.Process(kit.pid)], "jail": jails(kit)}
    victims["watcher"] = [child for jail in jails(kit) for child in jail.children()]
    for process in victims[victim]:
        process.kill()
    kit.communicate(timeout=120)
    assert gone(token)
    if victim != "kit":
        assert os.listdir(tmp_path / "temporary") == []


WORKS_ON = """#!/bin/bash
setsid sleep 7{token} & (setsid sleep 8{token} &)
while :; do (for ((i = 0; i < 100000; i++)); do :; done); done
"""


@pytest.mark.parametrize("mode", MODES)
def test_what_a_killed_kit_ran_ends_long_before_its_own_limit(
    mode: str, tmp_path: Path, token: str
) -> None:
    root = repository(tmp_path / "r", {"deploy.sh": WORKS_ON.replace("{token}", token)})
    (tmp_path / "w").mkdir()
    job = {
        "repo": str(root),
        "weights": str(tmp_path / "w"),
        "mode": mode,
        "wall_s": 30 * PATIENCE_S,
    }
    kit = subprocess.Popen(
        (sys.executable, "-I", str(HERE / "dry_run_one.py"), json.dumps(job)),
        cwd=tmp_path, env={**os.environ, "LACKING_PACKAGE": str(ROOT)}, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    assert runs(token)
    kit.kill()
    kit.wait()
    assert gone(token)


@pytest.mark.slow
def test_what_a_killed_kit_left_is_removed_by_the_next_one(tmp_path: Path, token: str) -> None:
    kit = started(tmp_path, "isolated", token)
    kit.kill()
    kit.communicate(timeout=60)
    assert gone(token)
    assert os.listdir(tmp_path / "temporary")
    words = (
        "verify",
        str(tmp_path / "r"),
        "--weights",
        str(tmp_path / "w"),
        "--until",
        "plan",
        "--quiet",
    )
    subprocess.run(
        (sys.executable, "-I", "-m", "healthcheck", *words),
        env={**os.environ, "TMPDIR": str(tmp_path / "temporary")}, cwd="/", capture_output=True, check=False,
    )  # fmt: skip
    assert os.listdir(tmp_path / "temporary") == []
