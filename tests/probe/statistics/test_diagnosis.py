"""The figures beside the headline, all together."""

from __future__ import annotations

import json
import random

import pytest

from healthcheck import json_text
from healthcheck.probe.statistics.diagnosis import diagnose
from healthcheck.probe.statistics.laws import BIASED


def test_a_run_is_diagnosed_and_can_be_written_as_json() -> None:
    draw = random.Random(2)
    shares = [0.95] * 20 + [0.5] * 20
    matrix = [[int(draw.random() < p) for _ in range(5)] for p in shares]
    answers = [["42" if right else str(draw.randrange(5)) for right in row] for row in matrix]
    confidences = [[0.9 if right else 0.4 for right in row] for row in matrix]
    result = diagnose(matrix, ["easy"] * 20 + ["hard"] * 20, answers, confidences=confidences)
    assert [gap.tier for gap in result.gaps] == ["all", "easy", "hard"]
    assert [estimate.name for estimate in result.calibration] == ["Brier score", "ECE"]
    assert result.broken_laws == ()
    assert result.order is not None
    assert result.stratified is not None
    stored = json.loads(json_text.dump(result))
    assert stored["clustering"]["icc"]["low"] <= stored["clustering"]["icc"]["value"]


def test_samples_that_agree_on_wrong_answers_are_a_systematic_error() -> None:
    result = diagnose([[0] * 5] * 20 + [[1] * 5] * 2, ["all"] * 22, [["7"] * 5] * 20 + [["42"] * 5] * 2)
    assert result.profile == BIASED
    assert result.stratified is None


def test_targets_and_the_situation_are_called_settled_only_by_whole_intervals() -> None:
    answers = [["7"] * 5] * 200
    sure = diagnose([[1] * 5] * 195 + [[0] * 5] * 5, ["all"] * 200, answers)
    assert set(sure.targets.values()) == {"met"}
    assert sure.profile_settled
    near = diagnose([[1] * 5] * 16 + [[0] * 5] * 4, ["all"] * 20, answers[:20])
    assert near.targets["balanced: avg > .75"] == "open"
    assert not near.profile_settled
    none = diagnose([[0] * 5] * 200, ["all"] * 200, answers)
    assert set(none.targets.values()) == {"missed"}


def test_one_sample_a_problem_has_no_order_and_no_gap() -> None:
    result = diagnose([[1], [0]], ["all", "all"], [["1"], [None]])
    assert (result.gaps, result.order, result.profile, result.targets) == ((), None, None, {})


def test_uneven_runs_are_refused() -> None:
    with pytest.raises(ValueError, match="same number of samples"):
        diagnose([[1], [0, 1]], ["a", "a"], [["1"], ["1", "1"]])
