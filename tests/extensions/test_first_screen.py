"""`read`, `compare` and `features` print at most a screen; `--verbose` prints everything."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path

import pytest

from healthcheck.extensions.simulator import Behaviour, Simulator
from tests.extensions.service_report.made_reports import HALF, zipped
from tests.support.commands import ran
from tests.support.inputs import runs  # noqa: F401 - a fixture

pytestmark = pytest.mark.process

SCREEN = 42
"""About 40 lines."""


def screens(*words: str) -> tuple[list[str], list[str]]:
    """The lines of a command without and with --verbose."""
    short, whole = ran(*words, COLUMNS="120"), ran(*words, "--verbose", COLUMNS="120")
    assert short.returncode == whole.returncode != 2, short.stderr
    return short.stdout.splitlines(), whole.stdout.splitlines()


def test_a_comparison_shows_three_problems_that_changed(runs: Path) -> None:  # noqa: F811
    short, whole = screens("compare", str(runs / "right"), str(runs / "wrong"))
    assert len(short) <= SCREEN
    assert sum(line.startswith("lost: ") for line in short) == 3
    assert short[-1] == "… and 27 more problems: --verbose"
    assert sum(line.startswith("lost: ") for line in whole) == 30
    assert short[0] == whole[0]


def test_a_report_with_many_tasks_is_cut_after_a_screen(tmp_path: Path) -> None:
    for number in range(9):
        with zipfile.ZipFile(zipped(tmp_path / "one.zip", HALF)) as one:
            one.extractall(tmp_path / "many" / f"task-{number}")
    short, whole = screens("read", str(tmp_path / "many"))
    assert len(short) == 40
    assert short[-1] == f"… and {len(whole) - 39} more lines: --verbose"
    assert short[:-1] == whole[:39]


def test_a_report_that_fits_a_screen_is_whole(tmp_path: Path) -> None:
    short, whole = screens("read", str(zipped(tmp_path / "one.zip", HALF)))
    assert short == whole


def test_a_report_of_the_kit_shows_every_check_on_request(runs: Path) -> None:  # noqa: F811
    short, whole = screens("read", str(runs / "right" / "report.json"))
    assert "probe/truncated" in "\n".join(whole)
    assert len(whole) > len(short)


def test_features_quote_one_answer_for_each_check() -> None:
    with Simulator(Behaviour()) as simulator:
        short, whole = screens("features", simulator.url)
    assert len(short) <= SCREEN
    assert any(
        re.search(r"features/parameters; \d more findings: --verbose$", line) for line in short
    )
    assert not any("more findings" in line for line in whole)
    assert sum("(seed)" in line for line in whole) == 1
