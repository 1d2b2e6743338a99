"""`npu-adapter compare` as a command: its options, exit statuses and outputs, in both languages."""

from __future__ import annotations

import argparse
import json
import os
import re
from dataclasses import replace
from pathlib import Path

import pytest

from healthcheck.cli import main
from healthcheck.extensions.compare import compare
from healthcheck.extensions.compare.command import margin_of
from healthcheck.extensions.compare.two_runs import compare_runs
from healthcheck.extensions.simulator.server import Simulator
from healthcheck.stages.probe.run.folder import load
from healthcheck.text.language import VARIABLE, Language, translation
from tests.cli.test_full_disk import FULL, NO_SPACE
from tests.cli.test_in_chinese import ENGLISH
from tests.probe.test_options import probed
from tests.report.test_quoted import QUOTED
from tests.security.test_workflow_commands import judge
from tests.security.test_workflow_commands import ran as ran_on_github
from tests.support.commands import ran, started
from tests.support.probes import behaviour, recorded, rewritten

UNWRITTEN = pytest.mark.skipif(not Path(FULL).exists(), reason=f"needs {FULL}")


@UNWRITTEN
@pytest.mark.process
def test_the_help_names_every_status_and_no_other(runs: Path) -> None:
    right, wrong = str(runs / "right"), str(runs / "wrong")
    tried = {
        0: (right, right, "--margin", ".5"), 1: (right, wrong), 2: ("--nonsense",),
        3: (right, right, "--margin", ".001"), 4: (right, right, "--json", FULL),
    }  # fmt: skip
    assert {status: ran("compare", *words).returncode for status, words in tried.items()} == {
        each: each for each in tried
    }
    table = ran("compare", "--help").stdout.partition("exit status:\n")[2]
    assert set(map(int, re.findall(r"^  (\d)  \S", table, re.MULTILINE))) == {*tried}


def test_the_help_is_chinese() -> None:
    shown = ran("compare", "--help", **{VARIABLE: "zh"}).stdout
    assert "--margin" in shown
    assert not ENGLISH.search(re.sub(r"\[--?[^]]*\]|--[\w-]+", "", shown)), shown


@pytest.mark.smoke
@pytest.mark.process
def test_as_a_process_it_compares_runs(runs: Path) -> None:
    done = started("compare", str(runs / "right"), str(runs / "right"), "--margin", ".5")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("no worse")


@pytest.mark.process
def test_json_is_the_same_everywhere(runs: Path, tmp_path: Path) -> None:
    words = ("compare", str(runs / "right"), str(runs / "right"), "--json")
    assert (
        "there is no folder nope; make it first" in ran(*words, "nope/x.json", cwd=tmp_path).stderr
    )
    assert ran(*words, "x.json", cwd=tmp_path).returncode == 3
    assert json.loads(ran(*words, "-").stdout) == json.loads((tmp_path / "x.json").read_text())


@UNWRITTEN
@pytest.mark.process
def test_a_requested_file_that_was_not_written_is_no_success(runs: Path, tmp_path: Path) -> None:
    right = str(runs / "right")
    done = ran(
        "compare",
        right,
        right,
        "--margin",
        ".5",
        "--json",
        FULL,
        TMPDIR=str(tmp_path),
        cwd=tmp_path,
    )
    assert done.returncode == 4, done.stderr
    assert f"npu-adapter: cannot write {FULL}: {NO_SPACE}" in done.stderr
    assert done.stdout


def test_a_slip_and_an_empty_path_are_answered() -> None:
    assert "did you mean --margin?" in ran("compare", "--margn", "3", "a", "b").stderr
    assert "the path is empty; is a variable unset?" in ran("compare", "a", "").stderr


@pytest.mark.process
@pytest.mark.slow
def test_no_command_of_an_argument_leaves() -> None:
    done = ran_on_github("compare", "\n::error::x", "b")
    assert done.returncode == 2, done.stderr
    assert b"error" in done.stderr
    judge(done)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may look everywhere")
def test_what_may_not_be_looked_at_is_no_failure_of_the_kit(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "closed").mkdir(0)
    assert main(["compare", str(tmp_path / "closed"), str(tmp_path / "closed")]) == 2
    assert "Permission denied" in capsys.readouterr().err


def test_a_report_without_samples_is_named_as_one(tmp_path: Path) -> None:
    folder = str(tmp_path / "run")
    assert ran("probe", "http://127.0.0.1:9", "--out", folder).returncode == 3
    done = ran("compare", folder, folder)
    assert done.returncode == 2
    assert "nothing was sampled there; its report.json says why" in done.stderr


@pytest.mark.parametrize(
    ("text", "share"),
    [
        ("0.05", 0.05),
        (".05", 0.05),
        ("5", 0.05),
        ("5%", 0.05),
        ("5 %", 0.05),
        ("1", 0.01),
        ("0.5%", 0.005),
        ("0.5", 0.5),
    ],
)
def test_a_margin_is_a_share_below_one_and_points_from_there(text: str, share: float) -> None:
    assert margin_of(text) == pytest.approx(share)


@pytest.mark.parametrize(
    "text", ["0", "-5", "100", "100%", "200", "0%", "five", "nan", "5%%", "inf%"]
)
def test_a_margin_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError):
        margin_of(text)


@pytest.mark.parametrize(
    ("difference", "said"), [(-0.0004, "+0.0"), (0.0, "+0.0"), (-0.0006, "-0.1"), (0.05, "+5.0")]
)
def test_a_difference_of_nothing_has_one_sign(difference: float, said: str) -> None:
    assert compare.points(difference) == said


@pytest.mark.process
def test_options_that_differ_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Simulator(behaviour()) as server:
        for name, top_k in (("a", "5"), ("b", "20")):
            probed(server.url, tmp_path / name, "--set", f"top_k={top_k}")
    capsys.readouterr()
    assert main(["compare", str(tmp_path / "a"), str(tmp_path / "b")]) == 2
    assert "top_k was 5 and 20, which moves accuracy by itself" in capsys.readouterr().err


@pytest.mark.process
@pytest.mark.parametrize("language", Language)
def test_a_comparison_quotes_answers_as_they_are(
    language: Language,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("NPU_ADAPTER_LANG", language.value)
    right, wrong = load(recorded(tmp_path / "a", 1.0)), load(recorded(tmp_path / "b", 0.0))
    for line in QUOTED:
        runs = right, rewritten(wrong, lambda sample, line=line: replace(sample, text=line))
        result = compare_runs(*runs, margin=0.05)
        said = [translation(language).say(text) for text in compare.lines_of(result, 3)]
        assert any(text.endswith(line) for text in said)
