"""The recipe of docs/statistics.md: it runs on the folder of a probe, and its figures are those by hand."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import pytest

from healthcheck.cli import main
from healthcheck.extensions.simulator import Simulator
from healthcheck.stages.probe.problems import Problem
from healthcheck.stages.probe.records import ProbeRun, Sample
from healthcheck.stages.probe.run import folder
from healthcheck.stages.probe.run.bank import bank
from healthcheck.stages.probe.run.folder import JOURNAL, Outcome
from healthcheck.stages.probe.run.journal import Journal
from tests.docs.blocks import ROOT, blocks
from tests.support.probes import SETTINGS, behaviour, even

MOST_LINES = 20
VOTE, LIKELIEST, ENDED = ("answer", "likelihood"), ("repeat", "likelihood"), ("repeat", "ended")
CALIBRATION = "calibration"


def recipe(page: str = "docs/statistics.md") -> str:
    (found,) = (block.body for block in blocks(ROOT / page) if block.language == "python")
    return found


def printed(run: Path, k: int) -> dict[tuple[str, str] | str, float | str]:
    """The figures that the recipe prints; the calibration is a text of its curve and its error."""
    script = run.parent / "choose.py"
    script.write_text(recipe(), "utf-8")
    command = [sys.executable, "-I", str(script), str(run), str(k)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    *figures, calibration = (line.split(maxsplit=2) for line in done.stdout.splitlines())
    found = {(group, score): float(value) for group, score, value in figures}
    return {**found, calibration[0]: " ".join(calibration[1:])}


def sample_of(problem: Problem, *, right: bool, likelihood: float) -> Sample:
    return Sample(
        order=0, problem=0, repeat=0, text=f"The answer is {problem.answer if right else '-1'}.",
        finish_reason="stop", mean_logprob=math.log(likelihood),
    )  # fmt: skip


@pytest.fixture
def by_hand(tmp_path: Path) -> Path:
    """A run of two problems with three samples each."""
    settings = replace(SETTINGS, problems=2, samples=3)
    problems = bank(settings)
    one, other = problems
    told = [
        [  # the right answer is the likeliest one, without a finish_reason; two wrong ones agree
            replace(sample_of(one, right=True, likelihood=0.9), finish_reason=""),
            sample_of(one, right=False, likelihood=0.4),
            sample_of(one, right=False, likelihood=0.4),
        ],
        [  # a tie, and a request that failed
            sample_of(other, right=False, likelihood=0.5),
            sample_of(other, right=True, likelihood=0.5),
            Sample(order=0, problem=0, repeat=0, error="HTTP 500"),
        ],
    ]
    run = tmp_path / "run"
    folder.begin(run, settings, problems, {"model": "m"})
    journal = Journal(run / JOURNAL)
    for problem, samples in enumerate(told):
        for repeat, sample in enumerate(samples):
            order = 3 * problem + repeat
            journal.append(replace(sample, order=order, problem=problem, repeat=repeat))
    journal.close()
    folder.write_outcome(run, Outcome(stopped="", seconds=1.0))
    folder.write_grades(folder.load(run))
    return run


def test_both_pages_have_the_same_recipe_which_fits_twenty_lines() -> None:
    assert len([line for line in recipe().splitlines() if line]) <= MOST_LINES
    assert recipe("docs/zh/statistics.md") == recipe()


@pytest.mark.process
def test_the_figures_are_those_by_hand(by_hand: Path) -> None:
    # The whole of three: 0.9 for the right answer against 0.8 for the wrong one; then a tie.
    whole = printed(by_hand, 3)
    assert whole[VOTE] == pytest.approx((1 + 1 / 2) / 2)
    assert whole[LIKELIEST] == pytest.approx((1 + 1 / 2) / 2)
    assert whole[ENDED] == pytest.approx((0 + 1 / 2) / 2)  # the right answer has no finish_reason
    # Of the pairs of the first problem, two have the right answer; of those of the second, one is
    # a tie, one has a wrong answer and the failed request, one a right answer and that request.
    pairs = printed(by_hand, 2)
    assert pairs[VOTE] == pytest.approx((2 / 3 + (1 / 2 + 0 + 1) / 3) / 2)
    assert pairs[LIKELIEST] == pytest.approx((2 / 3 + 1 / 2) / 2)
    assert pairs[ENDED] == pytest.approx((0 + 1 / 2) / 2)
    # Five answers are five bins; their distances are 0.4, 0.4, 0.5, 0.5 and 0.1.
    curve, _, error = str(whole[CALIBRATION]).partition(" error ")
    assert [round(likely, 9) for likely, _ in json.loads(curve)] == [0.4, 0.4, 0.5, 0.5, 0.9]
    assert [share for _, share in json.loads(curve)] == [0, 0, 0, 1, 1]
    assert float(error) == pytest.approx(0.38)


@pytest.mark.process
def test_it_runs_on_a_probe_whose_server_sends_log_probabilities(tmp_path: Path) -> None:
    run = tmp_path / "run"
    options = ["--problems", "12", "--samples", "4", "--full", "--quiet", "--out", str(run)]
    with Simulator(behaviour(accuracy=even(0.5))) as server:
        assert main(["probe", server.url, "--logprobs", *options]) in {0, 1, 3}
    found = printed(run, 2)
    measured = folder.load(run)
    assert all(sample.mean_logprob is not None for sample in measured.samples)
    assert found[LIKELIEST] == pytest.approx(likeliest_of_two(measured))
    assert 0 < float(str(found[CALIBRATION]).split()[-1]) < 1


def likeliest_of_two(run: ProbeRun) -> float:
    """The mean of best@2 by likelihood, pair by pair."""
    graded = list(zip(run.samples, run.grades, strict=True))
    shares = []
    for problem in range(len(run.problems)):
        own = [(s.mean_logprob, g.correct) for s, g in graded if s.problem == problem]
        for (first, right), (second, other) in combinations(own, 2):
            assert first is not None
            assert second is not None
            shares.append(
                (right + other) / 2 if first == second else max((first, right), (second, other))[1]
            )
    return sum(shares) / len(shares)


@pytest.mark.process
def test_without_the_option_no_likelihood_is_recorded(tmp_path: Path) -> None:
    run = tmp_path / "run"
    options = ["--problems", "4", "--samples", "2", "--full", "--quiet", "--out", str(run)]
    with Simulator(behaviour(accuracy=even(0.5))) as server:
        main(["probe", server.url, *options])
    assert {sample.mean_logprob for sample in folder.load(run).samples} == {None}
    lines = (run / "results/grades.jsonl").read_text("utf-8").splitlines()
    grades = folder.load(run).grades
    assert [json.loads(line)["correct"] for line in lines] == [each.correct for each in grades]
