"""The exit statuses that the help of a command names are those that it has: each is tried."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from healthcheck import cli
from healthcheck.cli import main
from tests.cli.test_full_disk import ran_into_a_full_disk
from tests.support.commands import ran
from tests.support.template import template_in

LISTED = {*cli.COMMANDS} - {"verify", "probe"}
"""The commands whose statuses are their own; the others have those of a verdict."""


def ended(*words: str) -> int:
    try:
        return main(list(words))
    except SystemExit as stop:
        return int(stop.code or 0)


def documented(command: str, capsys: pytest.CaptureFixture[str]) -> set[int]:
    capsys.readouterr()
    assert ended(command, "--help") == 0
    table = capsys.readouterr().out.partition("exit status:\n")[2]
    return set(map(int, re.findall(r"^  (\d)  \S", table, re.MULTILINE)))


@pytest.mark.process
@pytest.mark.parametrize("command", sorted(LISTED))
def test_the_help_names_every_status_and_no_other(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tried_below: tuple[str, ...] = ()
    tried: dict[int, tuple[str, ...]] = {2: (command, "--nonsense")}
    tried |= {
        "doctor": {0: ("doctor",), 1: tried_below},
        "explain": {0: ("explain", "plan/port"), 2: ("explain", "no/such")},
        "new": {0: ("new", str(tmp_path / "new"), "--task", "text-generation", "--defaults")},
        "plan": {0: ("plan",), 2: ("plan", "--npu", "H100")},
        "service": {0: ("service",), 2: ("service", "--service", str(tmp_path / "none.toml"))},
        "simulate": {0: tried_below, 3: tried_below},
        "update": {0: tried_below, 1: tried_below, 2: ("update", str(tmp_path))},
    }[command]
    for status, words in tried.items():
        if words:
            assert ended(*words) == status, (words, capsys.readouterr())
    assert {*tried, 4} == documented(command, capsys)


@pytest.mark.parametrize("command", sorted(LISTED))
def test_the_kits_own_failure(command: str) -> None:
    assert ran_into_a_full_disk(command, "--help")[0] == 4


@pytest.mark.parametrize(
    ("npu", "says"),
    [
        ("H100", "no NPU of the kind 'H100' is known; those that are: 910B1, "),
        ("910", "--npu '910' may be 910A or 910ProB or 910C (A3): name one"),
        ("Atlas 300I", "may be 310 or 310P3 or 310P3-Duo: name one"),
    ],
)
def test_an_npu_that_cannot_be_told(
    npu: str, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ended("verify", ".", "--until", "repo", "--npu", npu) == 2
    assert says in capsys.readouterr().err


@pytest.mark.process
def test_update_ends_with_0_and_is_silent_about_a_template_without_tags(
    tmp_path: Path, capfd
) -> None:
    template = template_in(tmp_path / "template")
    for words in (
        ("init", "-q"),
        ("add", "-A"),
        ("-c", "user.name=T", "-c", "user.email=t@e", "commit", "-qm", "1"),
    ):
        subprocess.run(["git", *words], cwd=template, check=True)
    assert ended("new", str(tmp_path / "mine"), "--template", str(template), "--defaults") == 0
    capfd.readouterr()
    assert ended("update", str(tmp_path / "mine")) == 0
    said = capfd.readouterr()
    assert said.out.startswith("already up to date")
    assert said.err == ""


@pytest.mark.process
def test_doctor_ends_with_1_where_a_needed_part_is_missing(tmp_path: Path) -> None:
    assert ran("doctor", PATH=str(tmp_path)).returncode == 1


@pytest.mark.process
def test_the_simulator_ends_with_0_after_a_signal_and_3_where_the_port_is_taken() -> None:
    command = [sys.executable, "-m", "healthcheck", "simulate", "--problems", "5", "--port"]
    with subprocess.Popen([*command, "0"], stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        assert "SIMULATED" in server.stderr.readline()
        server.send_signal(signal.SIGTERM)
        assert server.wait() == 0
    with socket.create_server(("127.0.0.1", 0)) as taken:
        assert ended("simulate", "--problems", "5", "--port", str(taken.getsockname()[1])) == 3


def test_a_crash_of_the_kit_is_not_a_verdict(monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    def crash(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("healthcheck.verify.catalogue.page", crash)
    assert main(["explain", "plan/port"]) == 4
    assert "ZeroDivisionError" in capsys.readouterr().err
