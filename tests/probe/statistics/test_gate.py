"""The gate: its error rates and expected samples, exactly, and the table of the statistics reference."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from healthcheck.stages.probe.statistics.gate import Decision, accuracy_gate, paired_gate
from tests.probe.statistics.operating import operating

probabilities = st.floats(0.03, 0.97)


@pytest.mark.parametrize(
    ("bad", "good", "error", "accuracy", "expected", "p90"),
    [
        (0.40, 0.70, 0.05, 0.05, 4, 6),
        (0.40, 0.70, 0.05, 0.80, 10, 18),
        (0.40, 0.70, 0.05, 0.95, 6, None),
        (0.40, 0.70, 0.01, 0.05, 6, 8),
        (0.40, 0.70, 0.01, 0.80, 15, 25),
        (0.50, 0.70, 0.05, 0.05, 5, None),
        (0.50, 0.70, 0.05, 0.80, 17, 34),
        (0.60, 0.75, 0.05, 0.80, 35, 70),
        (0.70, 0.80, 0.05, 0.80, 120, 250),
        (0.70, 0.80, 0.05, 0.95, 19, None),
        (0.50, 0.75, 0.01, 0.80, 25, 46),
    ],
)
def test_expected_samples_are_those_of_the_reference(
    bad: float, good: float, error: float, accuracy: float, expected: int, p90: int | None
) -> None:
    result = operating(accuracy_gate(bad=bad, good=good, error=error), accuracy, 1200)
    assert abs(result.expected_samples - expected) < 0.6
    assert p90 in {None, result.p90_samples}


@pytest.mark.parametrize("error", [0.05, 0.01])
@pytest.mark.parametrize(
    ("bad", "good"), [(0.40, 0.70), (0.50, 0.75), (0.60, 0.75), (0.05, 0.25), (0.9, 0.99)]
)
def test_error_rates_are_at_most_nominal_and_beyond_the_boundary_smaller(
    bad: float, good: float, error: float
) -> None:
    gate = accuracy_gate(bad=bad, good=good, error=error)
    at_bad, worse = operating(gate, bad, 300), operating(gate, bad / 2, 300)
    at_good, better = operating(gate, good, 300), operating(gate, (1 + good) / 2, 300)
    assert worse.healthy <= at_bad.healthy <= error
    assert better.degraded <= at_good.degraded <= error


def test_a_dead_server_is_seen_in_at_most_six_and_a_healthy_one_in_about_25() -> None:
    gate = accuracy_gate(bad=0.50, good=0.75)
    dead = gate.judge([0] * 120)
    assert (dead.decision, dead.observations) == (Decision.DEGRADED, 4)
    healthy = operating(gate, 0.80, 120)
    assert healthy.expected_samples == pytest.approx(25, abs=1)
    assert (round(healthy.degraded, 3), operating(gate, 0.40, 120).degraded > 0.99) == (0.002, True)


@pytest.mark.parametrize("accuracy", [0.0, 0.3, 0.75, 1.0])
def test_operating_is_the_sum_over_all_streams(accuracy: float) -> None:
    gate, budget = accuracy_gate(bad=0.3, good=0.7, error=0.1), 9
    outcomes = dict.fromkeys(Decision, 0.0)
    samples = 0.0
    for stream in product((0, 1), repeat=budget):
        evidence = gate.judge(stream)
        chance = accuracy ** sum(stream) * (1 - accuracy) ** (budget - sum(stream))
        outcomes[evidence.decision] += chance
        samples += chance * evidence.observations
    result = operating(gate, accuracy, budget)
    assert (
        result.healthy,
        result.degraded,
        result.inconclusive,
        result.expected_samples,
    ) == pytest.approx(
        (outcomes[Decision.HEALTHY], outcomes[Decision.DEGRADED], outcomes[Decision.OPEN], samples)
    )


@given(probabilities, probabilities, st.lists(st.floats(0, 1), max_size=60))
def test_no_evidence_value_exceeds_its_fair_game(a: float, b: float, scores: list[float]) -> None:
    # From any state, the expected e-value after one more sample at the boundary is the present one.
    bad, good = sorted((a, b))
    if good - bad < 1e-3:
        return
    gate = accuracy_gate(bad=bad, good=good, error=1e-9)
    state = gate.judge(scores)
    if state.decision is not Decision.OPEN:
        return
    for boundary, field in ((bad, "healthy_e"), (good, "degraded_e")):
        up, down = (10 ** getattr(gate.observe(state, score), field) for score in (1, 0))
        assert boundary * up + (1 - boundary) * down == pytest.approx(
            10 ** getattr(state, field), rel=1e-6
        )


def test_observing_is_pure_and_a_decision_stays() -> None:
    gate = accuracy_gate(bad=0.5, good=0.75)
    start = gate.start()
    gate.observe(start, 1)
    assert start == gate.start()
    decided = gate.judge([0] * 20)
    assert gate.observe(decided, 1) == decided
    assert decided.observations == 4


def test_a_budget_without_a_decision_is_inconclusive() -> None:
    evidence = accuracy_gate(bad=0.5, good=0.75).judge([1, 0, 1, 1, 0, 1])
    assert evidence.decision is Decision.OPEN
    assert evidence.decision.value == "inconclusive"
    assert evidence.observations == 6
    assert abs(evidence.healthy_e) < 2 > abs(evidence.degraded_e)


@pytest.mark.parametrize(
    "wrong",
    [
        {"bad": 0.7, "good": 0.5},
        {"bad": 0.0, "good": 0.5},
        {"bad": 0.5, "good": 1.0},
        {"bad": 0.5, "good": 0.6, "error": 0},
    ],
)
def test_impossible_gates_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="a gate needs"):
        accuracy_gate(**wrong)


def test_scores_outside_the_unit_interval_are_refused() -> None:
    with pytest.raises(ValueError, match="observation"):
        accuracy_gate(bad=0.5, good=0.75).judge([1.5])


def test_a_gate_far_below_a_low_reference_has_no_power() -> None:
    half = operating(accuracy_gate(bad=0.05, good=0.25), 0.15, 600)
    assert round(half.healthy, 2) == 0.74


def test_the_paired_gate_is_a_fair_game_at_either_boundary() -> None:
    # From any state, the expected e-value after one more difference whose mean is the boundary is the present one.
    gate = paired_gate(margin=0.1, slack=0.02, error=1e-9)
    state = gate.start()
    for difference in (0.2, -0.8, 0.0, 1.0, -0.4):
        state = gate.observe(state, difference)
    for mean, field in ((-0.1, "healthy_e"), (-0.02, "degraded_e")):
        down, up = (10 ** getattr(gate.observe(state, d), field) for d in (-0.7, 0.4))
        weight = (0.4 - mean) / 1.1
        assert weight * down + (1 - weight) * up == pytest.approx(10 ** getattr(state, field))


def test_the_paired_gate_sees_a_dead_server_soon_and_refuses_what_is_no_difference() -> None:
    gate, state = paired_gate(margin=0.1, error=0.01), paired_gate(margin=0.1, error=0.01).start()
    while state.decision is Decision.OPEN:
        state = gate.observe(state, -0.8)
    assert state.decision is Decision.DEGRADED
    assert state.observations <= 15
    assert gate.observe(state, 1.0) == state
    with pytest.raises(ValueError, match="observation"):
        gate.observe(gate.start(), 1.5)
    with pytest.raises(ValueError, match="slack"):
        paired_gate(margin=0.1, slack=0.1)


def test_the_paired_gate_starts_without_evidence() -> None:
    # A difference that is a boundary itself moves nothing, and the bounds on errors hold from an e-value of 1 on.
    gate = paired_gate(margin=0.3, slack=0.2)
    for boundary, field in ((-0.3, "healthy_e"), (-0.2, "degraded_e")):
        state = gate.observe(gate.observe(gate.start(), boundary), boundary)
        assert getattr(state, field) == pytest.approx(0, abs=1e-12)
        assert state.observations == 2


@pytest.mark.parametrize("slack", [0.0, 0.5])
def test_the_paired_gate_takes_the_largest_differences(slack: float) -> None:
    gate = paired_gate(margin=0.6, slack=slack)
    assert gate.observe(gate.start(), 1.0).healthy_e > 0
    assert gate.observe(gate.start(), -1.0).degraded_e > 0


@pytest.mark.parametrize(
    "wrong", [{"margin": 1.0}, {"margin": 0.1, "error": 0.0}, {"margin": 0.1, "error": 1.0}]
)
def test_impossible_paired_gates_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="paired gate"):
        paired_gate(**wrong)


@pytest.mark.parametrize("wrong", [1.1, -1.1])
def test_what_is_no_difference_of_two_scores_is_refused(wrong: float) -> None:
    gate = paired_gate(margin=0.1)
    with pytest.raises(ValueError, match="observation"):
        gate.observe(gate.start(), wrong)
