"""The one thing to do next, for each way in which a run can end."""

from __future__ import annotations

from dataclasses import replace

import pytest

from healthcheck.core.check import fail, note, unsettled, warn
from healthcheck.core.records import (
    NOT_BUILT,
    SIMULATOR,
    CheckResult,
    Finding,
    Level,
    Outcome,
    Report,
    Stage,
    verdict_of,
)
from healthcheck.report import words
from healthcheck.report.lines import brief


def result(
    outcome: Outcome, *findings: Finding, because: str = "", settled: bool = True
) -> CheckResult:
    return CheckResult(
        id="plan/port", stage=Stage.PLAN, title="The port", why="It connects.", outcome=outcome, findings=findings,
        because=because, settled=settled,
    )  # fmt: skip


PASSED = result(Outcome.PASS)
WARNED = result(Outcome.WARN, Finding(level=Level.WARN, expected="a", seen="b", fix="c"))
FAILED = result(
    Outcome.FAIL,
    Finding(
        level=Level.FAIL,
        expected="port 8000",
        seen="--port 8001",
        fix="pass --port 8000",
        where="deploy.sh:7",
    ),
)
BROKEN = result(Outcome.ERROR, because="KeyError: 'x'", settled=False)
OPEN = result(
    Outcome.SKIP,
    Finding(level=Level.UNSETTLED, expected="a", seen="b", fix="free the port"),
    settled=False,
)


@pytest.mark.parametrize(
    ("results", "fields", "says"),
    [
        pytest.param((PASSED,), {}, "submit", id="ready"),
        pytest.param(
            (PASSED, WARNED), {}, "read the warning, then submit", id="ready, with a warning"
        ),
        pytest.param(
            (PASSED,),
            {"asked": "repo to weights"},
            "through every stage",
            id="ready as far as asked",
        ),
        pytest.param((PASSED,), {"asked": "runner"}, "use this machine", id="a machine"),
        pytest.param(
            (PASSED,),
            {"provenance": {"server": SIMULATOR}},
            "this endpoint was simulated",
            id="no model behind it",
        ),
        pytest.param((WARNED, FAILED), {}, "deploy.sh:7: pass --port 8000", id="a failure"),
        pytest.param((PASSED, OPEN), {}, "free the port", id="something in the way"),
        pytest.param((PASSED, BROKEN), {}, "KeyError", id="the kit failed"),
        pytest.param(
            (PASSED,),
            {"uncommitted": "a repair is not committed"},
            "git commit",
            id="a repair is made",
        ),
        pytest.param((PASSED,), {"stopped": "interrupted"}, "run it again", id="interrupted"),
    ],
)
def test_the_next_step(results: tuple[CheckResult, ...], fields: dict, says: str) -> None:
    given = {"asked": words.WHOLE} | fields
    ended = {name: given.get(name, "") for name in ("stopped", "uncommitted")}
    assert says in words.next_step(
        Report(verdict=verdict_of(results, **ended), results=results, **given)
    )


def test_what_is_open_is_counted_apart_from_what_was_skipped() -> None:
    skipped = result(Outcome.SKIP, because="there is no requirements.txt")
    results = (PASSED, WARNED, OPEN, OPEN, skipped, FAILED, BROKEN)
    counted = words.counted(Report(verdict=verdict_of(results), results=results, asked=words.WHOLE))
    assert counted == (
        "1 passed, 1 passed with a warning, 2 unsettled, 1 skipped, 1 failed, 1 failed in the kit itself"
    )


@pytest.mark.parametrize(
    ("warned", "said"),
    [
        (0, ["Verdict: ready"]),
        (
            2,
            [
                "plan/x and 1 more: warning: expected a; saw b. Fix: c",
                "Verdict: ready; 2 warnings: plan/x, plan/x",
            ],
        ),
    ],
)
def test_the_brief_report_has_a_line_for_each_warning(warned: int, said: list[str]) -> None:
    given = replace(WARNED, id="plan/x", findings=(warn(expected="a", seen="b", fix="c"),))
    results = (PASSED, *(given,) * warned)
    assert (
        list(brief(Report(verdict=verdict_of(results), results=results, asked=words.WHOLE))) == said
    )


def test_the_brief_report_has_a_line_for_each_problem_of_a_check() -> None:
    wrong = [fail(expected="a", seen=seen, fix="c") for seen in ("b", "d", "b")]
    undecided, warned = (
        unsettled(expected="i", seen="j", fix="k"),
        warn(expected="e", seen="f", fix="g"),
    )
    given = replace(FAILED, id="plan/x", findings=(*wrong, undecided, warned, note("h")))
    report = Report(verdict=verdict_of((given,)), results=(given,), asked=words.WHOLE)
    assert list(brief(report))[:-1] == [
        "plan/x: expected a; saw b. Fix: c",
        "plan/x: expected a; saw d. Fix: c",
        "plan/x: unsettled: expected i; saw j. Fix: k",
        "plan/x: warning: expected e; saw f. Fix: g",
    ]


def test_a_sum_of_other_results_is_not_read_twice() -> None:
    summed = fail(expected="a", seen="failed: plan/x", fix="c", evidence={"sums_up": ["plan/x"]})
    results = (FAILED, replace(FAILED, id="plan/sum", findings=(summed,)))
    assert not any(
        "plan/sum:" in line
        for line in brief(Report(verdict=verdict_of(results), results=results, asked=""))
    )
    assert (
        words.counted(Report(verdict=verdict_of(results), results=results, asked="")) == "1 failed"
    )


ENGINE = "; vLLM itself has not checked its arguments"


@pytest.mark.parametrize(
    ("asked", "provenance", "headline"),
    [
        (words.WHOLE, {"task": "any-to-any"}, "ready for any-to-any"),
        (words.WHOLE, {"task": "unknown"}, "ready"),
        (
            "repo to plan",
            {"engine_config": NOT_BUILT},
            f"ready, as far as it was asked (repo to plan; neither model nor NPUs were judged{ENGINE})",
        ),
    ],
)
def test_a_verdict_names_the_task_and_what_only_the_engine_sees(
    asked: str, provenance: dict, headline: str
) -> None:
    report = Report(
        verdict=verdict_of((PASSED,)), results=(PASSED,), asked=asked, provenance=provenance
    )
    assert words.headline(report) == headline
