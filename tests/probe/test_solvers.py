"""The four solvers of known behaviour, and the published experiment through the real HTTP path."""

from __future__ import annotations

import importlib.util
import random
import statistics
import sys
from pathlib import Path
from types import ModuleType

import pytest

from healthcheck.extensions.simulator.solvers import SOLVERS, Query
from healthcheck.stages.probe.records import ProbeSettings
from healthcheck.stages.probe.run.bank import bank
from healthcheck.stages.probe.statistics.intervals import by_problem

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "evaluating_pass_at_k.py"


def asked(sample: int, *, tier: str = "hard", question: str = "Q", seed: int = 0) -> Query:
    return Query(question=question, right="42", tier=tier, sample=sample, seed=seed)


def rig() -> ModuleType:
    spec = importlib.util.spec_from_file_location("evaluating_pass_at_k", SCRIPT)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_the_baseline_reads_two_numbers_and_a_keyword() -> None:
    for question, answer in (
        ("Anna has 15 apples and picks 3 more. How many?", "18"),
        ("Anna has 15 apples and gives away 3. How many?", "12"),
        ("Anna has 3 boxes with 4 apples each and finds 2 more.", "12"),
        ("How many?", "0"),
    ):
        assert SOLVERS["regex"](asked(0, question=question)) == answer


@pytest.mark.parametrize("name", SOLVERS)
def test_a_sample_is_fixed_by_its_number_and_the_seed(name: str) -> None:
    first = [SOLVERS[name](asked(sample)) for sample in range(20)]
    assert [SOLVERS[name](asked(sample)) for sample in reversed(range(20))] == first[::-1]


def test_the_parser_errs_on_hard_problems_only() -> None:
    assert all(
        SOLVERS["parser"](asked(j, tier=tier)) == "42"
        for tier in ("easy", "medium")
        for j in range(50)
    )
    right = statistics.fmean(SOLVERS["parser"](asked(j)) == "42" for j in range(2000))
    assert right == pytest.approx(0.5, abs=0.05)


def test_errors_of_the_sticky_solver_stick_and_right_answers_do_not() -> None:
    said = [[SOLVERS["sticky"](asked(j, question=f"Q{i}")) for j in range(2)] for i in range(4000)]
    after_wrong = [b == a for a, b in said if a != "42"]
    after_right = [b == a for a, b in said if a == "42"]
    assert statistics.fmean(after_wrong) == pytest.approx(0.5 + 0.5 * 0.45 / 9, abs=0.04)
    assert statistics.fmean(after_right) == pytest.approx(0.55, abs=0.04)


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["parser", "iid", "sticky"])
def test_the_published_table_is_reproduced_through_http(tmp_path: Path, solver: str) -> None:
    script = rig()
    settings = ProbeSettings(
        url="", problems=script.PROBLEMS, samples=script.SAMPLES, seed=script.SEED
    )
    problems = bank(settings)
    matrix = script.matrix_of(script.run(solver, problems, tmp_path / solver))
    assert [len(row) for row in matrix] == [20] * 120
    row = script.row_of(solver, matrix, problems, 0.0)
    for k, published in zip(script.KS, script.PUBLISHED[solver], strict=True):
        centre, spread = row.expected[f"pass@{k}"]
        assert abs(row.pass_at[f"pass@{k}"] - centre) < 4 * spread + 1e-9
        if solver == "sticky":
            assert row.pass_at[f"pass@{k}"] == pytest.approx(published, abs=script.TOLERANCE)
        else:
            assert abs(published - centre) < 3 * spread + 1e-9


def test_the_bootstrap_is_the_same_for_the_same_seed_and_degenerate_where_all_agree() -> None:
    script, values = rig(), [0.0, 0.4, 0.6, 1.0, 1.0, 0.2]
    assert script.bootstrap(values, seed=3) == script.bootstrap(values, seed=3)
    assert script.bootstrap(values, seed=3) != script.bootstrap(values, seed=4)
    assert script.bootstrap([1.0] * 9, seed=1).low == 1.0 > by_problem([1.0] * 9).low


def test_a_solver_that_is_always_wrong_passes_where_two_percent_of_its_grades_are() -> None:
    script = rig()
    seen = script.graded_with_noise([[0] * 20] * 2000, random.Random(0))
    expected = {k: 1 - (1 - script.NOISE) ** k for k in script.KS}
    assert {k: script.mean(seen, k) for k in script.KS} == pytest.approx(expected, abs=0.01)
