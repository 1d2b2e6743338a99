"""The metrics of one problem: the sources' worked examples by name, the laws as properties, brute force."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from healthcheck.stages.probe.statistics.counting import cons_at_k, hard, pass_at_k
from healthcheck.stages.probe.statistics.summary import summarize, summarize_scores

rows = st.integers(1, 9).flatmap(lambda n: st.lists(st.integers(0, 1), min_size=n, max_size=n))
matrices = st.integers(1, 7).flatmap(
    lambda n: st.lists(st.lists(st.integers(0, 1), min_size=n, max_size=n), min_size=1, max_size=8)
)


def value(matrix: list[list[int]], name: str) -> float:
    estimate = summarize(matrix).estimate(name)
    assert estimate is not None
    return estimate.value


def brute(row: list[int], k: int, good: Callable[[int], bool]) -> float:
    outcomes = [good(sum(subset)) for subset in combinations(row, k)]
    return sum(outcomes) / len(outcomes)


def test_000_n5_c3_k2_is_nine_tenths() -> None:
    assert pass_at_k(5, 3, 2) == 0.9


def test_000_n100_c20_has_single_sample_rate_of_a_fifth() -> None:
    assert pass_at_k(100, 20, 1) == 0.2


def test_000_edges_of_pass_at_k() -> None:
    assert pass_at_k(5, 4, 2) == 1.0  # n - c < k
    assert pass_at_k(5, 0, 5) == 0.0


def test_000_example_of_section_2_3() -> None:
    matrix = [[1, 1, 0], [1, 0, 1], [0, 0, 1], [0, 0, 0]]
    assert value(matrix, "pass@3") == 0.75
    assert value(matrix, "avg@3") == pytest.approx(5 / 12)
    assert value(matrix, "cons@3") == 0.5


@pytest.mark.parametrize(
    ("matrix", "avg", "cons"),
    [
        ([[1, 1, 0], [1, 1, 0]], 2 / 3, 1.0),
        ([[1, 0, 0], [0, 1, 0]], 1 / 3, 0.0),
        ([[1, 1, 1], [0, 0, 0]], 0.5, 0.5),
    ],
    ids=["case 1: AAB/A, BBC/B", "case 2: ABC twice", "case 3: AAA/A, BBB/C"],
)
def test_000_three_cases_of_cons_and_avg(matrix: list[list[int]], avg: float, cons: float) -> None:
    assert value(matrix, "avg@3") == pytest.approx(avg)
    assert value(matrix, "cons@3") == cons


def test_000_soft_and_hard_accuracy_differ_on_intermediate_scores() -> None:
    summary = summarize_scores([[0.6, 0.4, 0.6]])
    soft, strict = summary.estimate("accuracy (3 runs average)"), summary.estimate("avg@3")
    assert soft is not None
    assert strict is not None
    assert (round(soft.value, 3), round(strict.value, 3)) == (0.533, 0.667)


def test_000_the_threshold_is_strict() -> None:
    assert hard([[0.5, 0.5000001, 1.0, 0.0]]) == ((0, 1, 1, 0),)


@given(matrices)
def test_000_soft_equals_hard_when_scores_are_zero_or_one(matrix: list[list[int]]) -> None:
    summary = summarize_scores([[float(x) for x in row] for row in matrix])
    n = summary.repeats
    soft = summary.estimate("accuracy" if n == 1 else f"accuracy ({n} runs average)")
    strict = summary.estimate(f"avg@{n}")
    assert soft is not None
    assert strict is not None
    assert soft.value == strict.value


def test_002_sample_report_needs_a_multiple_of_25_problems() -> None:
    # 5.60 / 24.00 / 0.00 with n = 5: 7 right samples for 25 problems, 6 problems with one.
    matrix = [[1, 0, 0, 0, 0]] * 5 + [[1, 1, 0, 0, 0]] + [[0] * 5] * 19
    figures = [f"{100 * value(matrix, name):.2f}" for name in ("avg@5", "pass@5", "cons@5")]
    assert figures == ["5.60", "24.00", "0.00"]


def test_003_pass_at_3_and_avg_at_3() -> None:
    matrix = [[0, 1, 0], [0, 0, 0]]
    assert value(matrix, "pass@3") == 0.5
    assert round(value(matrix, "avg@3"), 3) == 0.167


def test_cons_of_more_samples_than_k_is_hypergeometric() -> None:
    assert cons_at_k(20, 3, 5) == pytest.approx(0.0088, abs=5e-5)


def test_avg_at_most_cons_is_no_theorem() -> None:
    matrix = [[1, 0, 0], [0, 1, 0]]
    assert value(matrix, "avg@3") > value(matrix, "cons@3")


@given(rows)
def test_every_metric_is_the_mean_over_all_subsets(row: list[int]) -> None:
    n, c = len(row), sum(row)
    for k in range(1, n + 1):
        assert pass_at_k(n, c, k) == pytest.approx(brute(row, k, lambda right: right >= 1))
        assert cons_at_k(n, c, k) == pytest.approx(brute(row, k, lambda right, k=k: 2 * right > k))


@given(matrices)
def test_laws_at_n_equals_k(matrix: list[list[int]]) -> None:
    k = len(matrix[0])
    avg, passed, cons = (value(matrix, f"{name}@{k}") for name in ("avg", "pass", "cons"))
    floor = (k // 2) / k
    assert avg <= passed + 1e-12
    assert passed <= min(1.0, k * avg) + 1e-12
    assert cons <= passed
    assert (avg - floor) / (1 - floor) - 1e-12 <= cons <= avg / (floor + 1 / k) + 1e-12


@given(matrices)
def test_pass_grows_with_k(matrix: list[list[int]]) -> None:
    n = len(matrix[0])
    grows = [value(matrix, f"pass@{k}") for k in range(1, n + 1)]
    assert grows == sorted(grows)
    assert grows[0] == pytest.approx(value(matrix, f"avg@{n}"))


@pytest.mark.parametrize(("n", "c", "k"), [(0, 0, 1), (3, 4, 1), (3, -1, 1), (3, 1, 4), (3, 1, 0)])
def test_impossible_counts_are_refused(n: int, c: int, k: int) -> None:
    for metric in (pass_at_k, cons_at_k):
        with pytest.raises(ValueError, match="needs 1 <= k <= n"):
            metric(n, c, k)


def test_huge_counts_do_not_overflow() -> None:
    assert pass_at_k(10_000, 1, 5_000) == 0.5
    assert 0.0 < cons_at_k(5_000, 2_500, 1_000) < 1.0
