"""A signal that arrives while a program is being started also ends the program, and is handled."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import pytest

from healthcheck.system import processes
from tests.service.launching import alive, eventually

pytestmark = pytest.mark.process


def strike(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Send a signal during each Popen, before it returns; returns the list of processes started by then."""
    begun: list[int] = []

    class Struck(subprocess.Popen):  # type: ignore[type-arg]
        def _execute_child(self, *words: object) -> None:
            try:
                super()._execute_child(*words)  # type: ignore[misc]
            finally:
                begun.append(self.pid if hasattr(self, "pid") else 0)
                signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(subprocess, "Popen", Struck)
    return begun


def test_the_program_ends_with_the_kit(monkeypatch: pytest.MonkeyPatch) -> None:
    begun = strike(monkeypatch)
    with pytest.raises(KeyboardInterrupt):
        processes.started(["/bin/sleep", "600"], cwd="/", env={})
    assert len(begun) == 1
    assert eventually(lambda: not alive(begun[0]))
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_signal_beside_a_program_that_is_not_there_is_heard(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    strike(monkeypatch)
    with pytest.raises(KeyboardInterrupt):
        processes.started([str(tmp_path / "absent")], cwd="/", env={})
