"""The progress of a run goes on while one step lasts: the clock ticks on a terminal, a log gets a line."""

from __future__ import annotations

import io
import os
import pty
import re
import sys
import time
from collections.abc import Callable

import pytest

from healthcheck.core.stages import Stage
from healthcheck.report.lines import LineProgress
from healthcheck.report.terminal import TerminalProgress

STEP = "endpoint, up to 300 s an answer: limits, sampling"


def eventually(holds: Callable[[], bool]) -> None:
    """Wait for something that need not be quick; the time-out of the test ends a wait in vain."""
    while not holds():
        time.sleep(0.01)


def test_the_clock_ticks_within_a_step(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = pty.openpty()
    seen = bytearray()

    def clocks() -> set[bytes]:
        seen.extend(os.read(ours, 65536))
        return set(re.findall(rb"(\d+) s +50 %  " + STEP.encode(), seen))

    with (
        open(theirs, "w", encoding="utf-8", closefd=False) as terminal,
        monkeypatch.context() as patch,
    ):
        patch.setattr(sys, "stderr", terminal)
        patch.setenv("TERM", "xterm")
        patch.setenv("COLUMNS", "100")
        progress = TerminalProgress()
        progress.stage(Stage.ENDPOINT, "the chat endpoint")
        progress.update(STEP, done=3, total=6)
        eventually(lambda: len(clocks()) >= 2)
        progress.close()
    os.close(theirs)
    os.close(ours)


@pytest.mark.parametrize("listener", [TerminalProgress, LineProgress])
def test_a_log_gets_a_line_while_a_step_lasts(
    listener: Callable[..., TerminalProgress | LineProgress], monkeypatch: pytest.MonkeyPatch
) -> None:
    log = io.StringIO()
    monkeypatch.setattr(sys, "stderr", log)
    progress = listener(beat_s=0.001)
    progress.stage(Stage.ENDPOINT, "the chat endpoint")
    progress.update(STEP)
    eventually(lambda: log.getvalue().count(STEP) >= 3)
    progress.close()
    lines = log.getvalue().splitlines()
    assert all(
        re.fullmatch(r" *[\d.]+ s  .*|endpoint +the chat endpoint", line) for line in lines
    ), lines
    after = log.getvalue()
    time.sleep(0.05)
    assert log.getvalue() == after


def test_the_heading_of_a_stage_comes_once_and_first(monkeypatch: pytest.MonkeyPatch) -> None:
    log = io.StringIO()
    monkeypatch.setattr(sys, "stderr", log)
    progress = TerminalProgress(beat_s=0.001)
    progress.stage(Stage.REPO, "the committed files")
    eventually(lambda: "the committed files" in log.getvalue())
    progress.update(STEP)
    eventually(lambda: STEP in log.getvalue())
    progress.close()
    assert log.getvalue().startswith("repo      the committed files\n")
    assert not re.search(r"^repo .*\n(.*\n)*repo ", log.getvalue())
