"""What pass, avg and cons say together, as the client's documentation puts it."""

from __future__ import annotations

import pytest

from healthcheck.stages.probe.results.meaning import meaning
from healthcheck.stages.probe.statistics.summary import summarize, summarize_votes


def said(rows: list[list[int]], answers: list[list[str | None]] | None = None) -> str:
    given = answers or [[str(n) for n in range(len(row))] for row in rows]
    return "\n".join(map(str, meaning(summarize(rows), summarize_votes(rows, given))))


@pytest.mark.parametrize(
    ("rows", "words", "targets"),
    [
        ([[1, 1, 1, 1, 1]] * 10, "reliable", "reliability (diagnosis, finance), fault tolerance"),
        ([[1, 1, 0, 0, 1]] * 4 + [[1, 1, 0, 0, 0]] * 6, "no row of its own", "none"),
        ([[1] * 5] * 4 + [[1, 1, 0, 0, 0]] * 6, "strong but", "none"),
        ([[1, 0, 0, 0, 0]] * 3 + [[0] * 5] * 7, "failing", "none"),
    ],
)
def test_the_profile_and_the_targets_that_are_met(
    rows: list[list[int]], words: str, targets: str
) -> None:
    assert words in said(rows)
    assert f"met for: {targets}" in said(rows)


def test_wrong_answers_that_agree_are_a_systematic_error() -> None:
    assert "a systematic error" in said([[0] * 5] * 9, [["7"] * 5] * 9)


def test_a_high_pass_beside_a_low_average_is_no_praise() -> None:
    assert "says little beside avg@20 5 %" in said([[1] + [0] * 19] * 10)
    assert "says little" not in said([[1] * 19 + [0]] * 10)


def test_one_sample_has_no_profile() -> None:
    assert said([[1], [0]]) == ""
