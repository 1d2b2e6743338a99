"""A check turns facts into a result, and its own failure is never the submission's."""

from __future__ import annotations

import pytest

from healthcheck import contract
from healthcheck.core.check import (
    Check,
    Findings,
    NotApplicable,
    check,
    fail,
    note,
    unsettled,
    warn,
)
from healthcheck.core.records import Finding, Level, Outcome
from healthcheck.core.stages import Stage


def declared(*findings: Finding, by_row: bool = False) -> Check[str]:
    @check(
        "plan/example",
        "An example",
        stage=Stage.PLAN,
        why="for the test",
        rule=contract.LISTENS_ON_PORT,
        by_row=by_row,
    )
    def example(_facts: str) -> Findings:
        """A page."""
        yield from findings

    return example


FAIL = fail(expected="port 8000", seen="--port 8001", fix="write --port 8000", where="deploy.sh:3")
WARN = warn(expected="a", seen="b", fix="c")
UNSETTLED = unsettled(expected="a free port", seen="a taken one", fix="stop it")


@pytest.mark.parametrize(
    ("findings", "outcome", "settled"),
    [
        ((), Outcome.PASS, True),
        ((note("by the way"),), Outcome.PASS, True),
        ((WARN, note("by the way")), Outcome.WARN, True),
        ((WARN, FAIL), Outcome.FAIL, True),
        ((UNSETTLED,), Outcome.SKIP, False),
        ((UNSETTLED, FAIL), Outcome.FAIL, False),
    ],
)
def test_the_gravest_finding_decides(
    findings: tuple[Finding, ...], outcome: Outcome, settled: bool
) -> None:
    result = declared(*findings).judge("facts")
    assert (result.outcome, result.settled) == (outcome, settled)
    assert result.findings == findings


DOUBT = "there is no such row"


@pytest.mark.parametrize(
    ("findings", "by_row", "outcome", "levels"),
    [
        ((), True, Outcome.SKIP, [Level.UNSETTLED]),
        ((WARN,), True, Outcome.SKIP, [Level.UNSETTLED, Level.WARN]),
        ((FAIL,), True, Outcome.SKIP, [Level.UNSETTLED, Level.UNSETTLED]),
        ((), False, Outcome.PASS, []),
        ((FAIL,), False, Outcome.FAIL, [Level.FAIL]),
    ],
)
def test_what_depends_on_a_row_that_is_not_there_stays_open(
    findings: tuple[Finding, ...], by_row: bool, outcome: Outcome, levels: list[Level]
) -> None:
    result = declared(*findings, by_row=by_row).judge("facts", DOUBT)
    assert (result.outcome, [finding.level for finding in result.findings]) == (outcome, levels)
    assert result.settled is not by_row
    if by_row:
        assert (result.findings[0].seen, "--stack" in result.findings[0].fix) == (DOUBT, True)


def test_a_check_that_does_not_apply_is_skipped_in_any_row() -> None:
    @check("plan/example", "An example", stage=Stage.PLAN, why="for the test", by_row=True)
    def example(_facts: str) -> Findings:
        """A page."""
        raise NotApplicable("another engine")
        yield

    result = example.judge("facts", DOUBT)
    assert (result.outcome, result.because, result.settled) == (
        Outcome.SKIP,
        "another engine",
        True,
    )


def test_not_applicable_is_a_skip_with_its_reason() -> None:
    @check("endpoint/image", "Pictures", stage=Stage.ENDPOINT, why="for the test")
    def image(facts: str) -> Findings:
        """A page."""
        if facts == "text":
            raise NotApplicable("a text task has no pictures")
        yield note("unreached")

    result = image.judge("text")
    assert (result.outcome, result.because, result.settled) == (
        Outcome.SKIP,
        "a text task has no pictures",
        True,
    )


def test_a_crash_is_the_kits_error() -> None:
    @check("plan/broken", "Broken", stage=Stage.PLAN, why="for the test")
    def broken(facts: dict[str, str]) -> Findings:
        """A page."""
        yield note(facts["missing"])

    result = broken.judge({})
    assert result.outcome is Outcome.ERROR
    assert "KeyError" in result.because


def test_a_result_and_a_page_say_what_was_declared() -> None:
    @check("plan/example", "An example", stage=Stage.PLAN, why="for the test")
    def example(_facts: str) -> Findings:
        """On port {port}, by {launch}."""
        yield from ()

    result = example.judge("facts")
    assert (result.id, result.title, result.stage) == ("plan/example", "An example", Stage.PLAN)
    assert (result.why, result.rule, result.because) == ("for the test", None, "")
    assert example.page == "On port {port}, by {launch}."


def test_a_finding_has_what_it_was_made_of() -> None:
    place = {"where": "deploy.sh:3", "evidence": {"port": 8001}}
    words = {"expected": "a", "seen": "b", "fix": "c"}
    for make, level in ((fail, Level.FAIL), (warn, Level.WARN), (unsettled, Level.UNSETTLED)):
        assert make(**words) == Finding(level=level, **words)
        assert make(**words, **place) == Finding(level=level, **words, **place)
    for make in (fail, warn):
        assert make(**words, rule=contract.WEIGHT_LIMIT).rule is contract.WEIGHT_LIMIT
    assert note("b") == Finding(level=Level.NOTE, expected="", seen="b")
    assert note("b", **place) == Finding(level=Level.NOTE, expected="", seen="b", **place)


def test_a_check_without_a_page_cannot_be_declared() -> None:
    with pytest.raises(TypeError, match="no docstring"):

        @check("plan/silent", "Silent", stage=Stage.PLAN, why="for the test")
        def silent(_facts: str) -> Findings:
            yield FAIL


def test_a_finding_may_break_another_rule_than_its_checks() -> None:
    other = fail(expected="a", seen="b", fix="c", rule=contract.WEIGHT_LIMIT)
    assert declared(other).judge("facts").rule is contract.WEIGHT_LIMIT
    assert declared(FAIL).judge("facts").rule is contract.LISTENS_ON_PORT
    assert FAIL.level is Level.FAIL
