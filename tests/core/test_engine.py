"""The ledger runs checks over facts that are gathered once, and skips what a failure made pointless."""

from __future__ import annotations

import pytest

from healthcheck.core.check import Check, Findings, NotApplicable, check, fail, unsettled
from healthcheck.core.ledger import Ledger
from healthcheck.core.progress import Silent
from healthcheck.core.records import CheckResult, Outcome, Report, Verdict, exit_status, verdict_of
from healthcheck.core.stages import Stage
from healthcheck.errors import Blocked, UsageError
from healthcheck.text.messages import msg


def make(
    id: str, *, requires: tuple[str, ...] = (), broken: bool = False, crashes: bool = False
) -> Check[str]:
    @check(id, id, stage=Stage.PLAN, why="for the test", requires=requires)
    def made(facts: str) -> Findings:
        """A page."""
        if crashes:
            raise RuntimeError(facts)
        if broken:
            yield fail(expected="a", seen=facts, fix="b")

    return made


def outcomes(ledger: Ledger) -> dict[str, Outcome]:
    return {result.id: result.outcome for result in ledger.results}


def test_facts_are_gathered_once_and_every_check_sees_them() -> None:
    calls: list[str] = []
    ledger = Ledger(Silent())
    facts = ledger.judge([make("a"), make("b", broken=True)], lambda: calls.append("x") or "facts")
    assert (facts, calls) == ("facts", ["x"])
    assert outcomes(ledger) == {"a": Outcome.PASS, "b": Outcome.FAIL}
    assert [result.id for result in ledger.failed()] == ["b"]


def test_a_failed_prerequisite_skips_its_dependants_and_is_named() -> None:
    ledger = Ledger(Silent())
    ledger.judge(
        [make("a", broken=True), make("b", requires=("a",)), make("c", requires=("b",))],
        lambda: "facts",
    )
    assert outcomes(ledger) == {"a": Outcome.FAIL, "b": Outcome.SKIP, "c": Outcome.SKIP}
    assert "a failed" in ledger.results[1].because
    assert ledger.results[2].because == "a failed"


def test_facts_are_not_gathered_when_no_check_can_use_them() -> None:
    ledger = Ledger(Silent())
    ledger.judge([make("a", crashes=True)], lambda: "facts")
    gathered = ledger.judge([make("b", requires=("a",))], lambda: 1 / 0)
    assert gathered is None
    assert outcomes(ledger) == {"a": Outcome.ERROR, "b": Outcome.SKIP}


def test_a_waived_check_does_not_run_and_stops_nobody() -> None:
    ledger = Ledger(Silent(), waived={"a": "--skip"})
    ledger.judge([make("a", broken=True), make("b", requires=("a",))], lambda: "facts")
    assert outcomes(ledger) == {"a": Outcome.SKIP, "b": Outcome.PASS}
    assert "on request" in ledger.results[0].because


def report(*checks: Check[str], stopped: str = "") -> Report:
    ledger = Ledger(Silent())
    ledger.judge(checks, lambda: "facts")
    return Report(
        verdict=verdict_of(ledger.results, stopped=stopped),
        results=ledger.results,
        asked="plan",
        stopped=stopped,
    )


def test_a_waiver_holds_without_facts() -> None:
    ledger = Ledger(Silent(), waived={"a": "--skip a"})
    ledger.judge([make("a"), make("b")], lambda: str(1 / 0))
    assert outcomes(ledger) == {"a": Outcome.SKIP, "b": Outcome.ERROR}
    assert [result.waived for result in ledger.results] == [True, False]


def test_a_waived_check_is_not_left_open() -> None:
    ledger = Ledger(Silent(), waived={"a": "--skip a"})
    ledger.leave_open(make("a"), "the weights are not here")
    assert (ledger.results[0].waived, ledger.results[0].settled) == (True, True)


def test_the_verdict_and_the_exit_status() -> None:
    good, bad, crash = make("a"), make("b", broken=True), make("c", crashes=True)
    table = [
        (report(good), Verdict.READY, 0),
        (report(good, bad), Verdict.NOT_READY, 1),
        (report(good, bad, crash), Verdict.NOT_READY, 1),
        (report(good, crash), Verdict.INCONCLUSIVE, 4),
        (report(good, stopped="interrupted"), Verdict.INCONCLUSIVE, 3),
        (report(), Verdict.INCONCLUSIVE, 3),
    ]
    assert [(seen.verdict, exit_status(seen)) for seen, _, _ in table] == [row[1:] for row in table]


def ended(outcome: Outcome, *, settled: bool = True) -> CheckResult:
    return CheckResult(id="a", stage=Stage.PLAN, title="", outcome=outcome, why="", settled=settled)


@pytest.mark.parametrize(
    ("results", "circumstances", "verdict"),
    [
        ([ended(Outcome.PASS), ended(Outcome.WARN), ended(Outcome.SKIP)], {}, Verdict.READY),
        ([ended(Outcome.PASS), ended(Outcome.SKIP, settled=False)], {}, Verdict.INCONCLUSIVE),
        ([ended(Outcome.SKIP, settled=False), ended(Outcome.FAIL)], {}, Verdict.NOT_READY),
        ([ended(Outcome.ERROR)], {}, Verdict.INCONCLUSIVE),
        ([], {}, Verdict.INCONCLUSIVE),
        ([ended(Outcome.PASS)], {"stopped": "interrupted"}, Verdict.INCONCLUSIVE),
        ([ended(Outcome.FAIL)], {"stopped": "interrupted"}, Verdict.NOT_READY),
        ([ended(Outcome.PASS)], {"uncommitted": "deploy.sh differs"}, Verdict.NOT_READY),
        ([], {"uncommitted": "deploy.sh differs", "stopped": "interrupted"}, Verdict.NOT_READY),
    ],
)
def test_nothing_but_settled_results_of_a_whole_run_is_ready(
    results: list[CheckResult], circumstances: dict[str, str], verdict: Verdict
) -> None:
    assert verdict_of(tuple(results), **circumstances) is verdict


def test_a_doubt_about_the_row_leaves_open_what_depends_on_it() -> None:
    @check("row", "row", stage=Stage.PLAN, why="for the test", by_row=True)
    def row(_facts: str) -> Findings:
        """A page."""
        yield from ()

    ledger = Ledger(Silent(), doubt="no such row")
    ledger.judge([make("a"), row], lambda: "facts")
    assert outcomes(ledger) == {"a": Outcome.PASS, "row": Outcome.SKIP}
    assert verdict_of(ledger.results) is Verdict.INCONCLUSIVE
    certain = Ledger(Silent())
    certain.judge([make("a"), row], lambda: "facts")
    assert verdict_of(certain.results) is Verdict.READY


def test_every_prerequisite_counts() -> None:
    ledger = Ledger(Silent(), waived={"waived": "--skip"})
    requires = ("waived", "unknown", "bad")
    ledger.judge(
        [make("waived"), make("bad", broken=True), make("last", requires=requires)], lambda: "facts"
    )
    assert (ledger.result("last").outcome, ledger.result("last").because) == (
        Outcome.SKIP,
        "bad failed",
    )


def test_a_skip_names_the_first_of_its_causes_that_gave_no_answer() -> None:
    @check("other", "other", stage=Stage.PLAN, why="for the test")
    def other(_facts: str) -> Findings:
        """A page."""
        raise NotApplicable("another engine")
        yield

    crash = make("a", crashes=True)
    checks = [
        crash,
        make("b", requires=("a",)),
        make("c", requires=("b",)),
        other,
        make("d", requires=("other",)),
    ]
    ledger = Ledger(Silent())
    ledger.judge(checks, lambda: "facts")
    because = {
        result.id: result.because for result in ledger.results if result.outcome is Outcome.SKIP
    }
    assert because == {
        "b": "a has no result",
        "c": "a has no result",
        "other": "another engine",
        "d": "other has no result",
    }


def test_checks_that_are_not_run_say_why_and_results_stay() -> None:
    ledger = Ledger(Silent())
    ledger.judge([make("a", broken=True)], lambda: "facts")
    ledger.skip([make("a"), make("b", requires=("a",)), make("c")], "the launch failed")
    assert [(result.outcome, result.because) for result in ledger.results] == [
        (Outcome.FAIL, ""),
        (Outcome.SKIP, "a failed"),
        (Outcome.SKIP, "the launch failed"),
    ]


def test_results_are_shown_as_they_are_kept_and_without_secrets() -> None:
    class Shown(Silent):
        def __init__(self) -> None:
            self.results: list[CheckResult] = []

        def result(self, result: CheckResult) -> None:
            self.results.append(result)

    shown = Shown()
    ledger = Ledger(shown)
    ledger.judge(
        [make("a"), make("b", broken=True)], lambda: "vllm serve /m --api-key Zq7-vT.9xK_w2Lm4"
    )
    assert tuple(shown.results) == ledger.results
    assert [finding.seen for finding in ledger.result("b").findings] == [
        "vllm serve /m --api-key removed"
    ]


def test_facts_that_cannot_be_gathered() -> None:
    def blocked() -> str:
        raise Blocked(msg("no server answers"))

    def broken() -> str:
        raise OSError("disk full")

    def useless() -> str:
        raise UsageError(msg("no such folder"))

    for gather, outcome, reason in (
        (blocked, Outcome.SKIP, "no server answers"),
        (broken, Outcome.ERROR, "OSError: disk full"),
    ):
        ledger = Ledger(Silent())
        assert ledger.judge([make("a"), make("b")], gather) is None
        assert outcomes(ledger) == {"a": outcome, "b": outcome}
        assert all((result.settled, result.because) == (False, reason) for result in ledger.results)
        assert verdict_of(ledger.results) is Verdict.INCONCLUSIVE
    with pytest.raises(UsageError):
        Ledger(Silent()).judge([make("a")], useless)


def test_a_launch_settles_what_the_plan_left_open() -> None:
    @check("plan/open", "Open", stage=Stage.PLAN, why="for the test")
    def open_(_facts: str) -> Findings:
        """A page."""
        yield unsettled(expected="a", seen="b", fix="c")

    ledger = Ledger(Silent())
    ledger.judge([open_, make("bad", broken=True)], lambda: "facts")
    ledger.settle(Stage.SERVICE, "another stage")
    assert not ledger.result("plan/open").settled
    ledger.settle(Stage.PLAN, "the launch answered")
    settled = ledger.result("plan/open")
    assert (settled.outcome, settled.settled, settled.because) == (
        Outcome.WARN,
        True,
        "the launch answered",
    )
    assert ledger.result("bad").outcome is Outcome.FAIL
