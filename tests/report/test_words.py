"""The one thing to do next, for each way in which a run can end."""

from __future__ import annotations

from dataclasses import replace

import pytest

from healthcheck.core.check import fail, note, unsettled, warn
from healthcheck.core.commands import in_folder
from healthcheck.core.records import (
    SIMULATOR,
    UNCOMMITTED_CHANGES,
    CheckResult,
    Finding,
    Level,
    Outcome,
    Report,
    verdict_of,
)
from healthcheck.core.stages import SUBMISSION, Stage, Subject
from healthcheck.report import terminal, words
from healthcheck.report.lines import brief
from healthcheck.text.redact import HIDDEN


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
MACHINE = Subject(whole="runner", ready="it is ready", use="use it")
OF_A_MACHINE = replace(PASSED, stage=Stage(name="runner", title="", place=80, subject=MACHINE))
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
            (PASSED, WARNED),
            {},
            "c; then verify it again and submit it",
            id="ready, with a warning",
        ),
        pytest.param(
            (PASSED,),
            {"asked": "repo to weights"},
            "through every stage",
            id="ready as far as asked",
        ),
        pytest.param((OF_A_MACHINE,), {"asked": "runner"}, "use it", id="a machine"),
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
    given = {"asked": SUBMISSION.whole} | fields
    ended = {name: given.get(name, "") for name in ("stopped", "uncommitted")}
    assert says in words.next_step(
        Report(verdict=verdict_of(results, **ended), results=results, **given)
    )


def test_a_ready_verdict_with_a_warning_has_its_repair_and_the_command() -> None:
    report = Report(
        verdict=verdict_of((PASSED, WARNED)),
        results=(PASSED, WARNED),
        asked=SUBMISSION.whole,
        provenance={"command": ["npu-adapter", "verify", "my repo"]},
    )
    assert words.next_step(report) == "c; then verify it again: npu-adapter verify 'my repo'"


@pytest.mark.parametrize(
    ("command", "folder", "shown"),
    [
        ("git mv a b", "", "git mv a b"),
        ("git mv a b", "my repo", "(cd 'my repo' && git mv a b)"),
        ("chmod +x a && git add a", "r", "(cd r && chmod +x a && git add a)"),
        ("", "r", ""),
    ],
)
def test_a_command_runs_in_the_repository(command: str, folder: str, shown: str) -> None:
    assert in_folder(command, folder) == shown


def test_a_command_for_the_weights_runs_in_their_folder() -> None:
    found = fail(expected="a", seen="b", fix="c", command="mv x y")
    of_repo, of_weights = (
        replace(FAILED, stage=stage, findings=(found,)) for stage in (Stage.REPO, Stage.WEIGHTS)
    )
    placed = words.with_commands_in((of_repo, of_weights), "r", "/w")
    assert [each.findings[0].command for each in placed] == [
        "(cd r && mv x y)",
        "(cd /w && mv x y)",
    ]


def test_a_command_for_a_hidden_folder_says_where_it_runs() -> None:
    found = fail(expected="a", seen="b", fix="rename x", command="mv x y")
    of_repo, of_weights = (
        replace(FAILED, stage=stage, findings=(found,)) for stage in (Stage.REPO, Stage.WEIGHTS)
    )
    placed = words.with_commands_in((of_repo, of_weights), HIDDEN, HIDDEN)
    assert [words.repair(each.findings[0]) for each in placed] == [
        "in the folder of the repository, rename x: mv x y",
        "in the folder of the weights, rename x: mv x y",
    ]
    step = words.next_steps(report_on(PASSED, uncommitted="x", folder=HIDDEN))[0]
    assert step.words == "in the folder of the repository, commit the repair"
    assert step.command == words.COMMIT_THE_REPAIR


def test_an_extension_that_is_not_loaded_does_not_change_the_subject() -> None:
    unusable = replace(BROKEN, id="extension/own", stage=Stage.REPO)
    assert report_on(OF_A_MACHINE, unusable).subject == MACHINE
    assert report_on(unusable).subject == SUBMISSION


def test_stages_of_one_place_are_in_the_order_of_their_names() -> None:
    names = [f"stage-{letter}" for letter in "hgfedcba"]
    stages = (Stage(name=name, title="", place=80) for name in names)
    report = report_on(*(replace(PASSED, stage=stage) for stage in stages))
    assert [stage.name for stage, _ in report.by_stage()] == sorted(names)


COMMAND = ["npu-adapter", "verify", "r", "--weights", "w w", "--until", "weights", "--npus", "8"]
AGAIN = "npu-adapter verify r --weights 'w w' --until weights --npus 8"


def report_on(*results: CheckResult, **fields: object) -> Report:
    given = {"asked": "repo to weights", "provenance": {"command": COMMAND}} | fields
    uncommitted = str(given.get("uncommitted", ""))
    return Report(verdict=verdict_of(results, uncommitted=uncommitted), results=results, **given)


def test_uncommitted_changes_are_committed_before_anything_else() -> None:
    changed = warn(
        expected="a",
        seen="b",
        fix="commit the changes",
        command="git commit -am x",
        evidence={UNCOMMITTED_CHANGES: ["deploy.sh"]},
    )
    committed = replace(WARNED, id="repo/committed", stage=Stage.REPO, findings=(changed,))
    steps = words.next_steps(report_on(FAILED, committed))
    assert [step.command for step in steps] == ["git commit -am x", AGAIN]
    assert "--port 8000" not in words.next_step(report_on(FAILED, committed))


def test_a_repair_of_the_kit_is_committed_without_an_editor_and_verified_again() -> None:
    fixed = report_on(
        PASSED, uncommitted="x", folder="r", provenance={"command": [*COMMAND, "--fix"]}
    )
    commit, again = (step.command for step in words.next_steps(fixed))
    assert commit == "(cd r && git commit -am 'Repair the submission')"
    assert again == AGAIN


def test_the_last_step_before_the_submission_has_its_command() -> None:
    (step,) = words.next_steps(report_on(PASSED))
    assert step.command == "npu-adapter verify r --weights 'w w' --npus 8"
    short = report_on(PASSED, provenance={"command": [*COMMAND[:5], "--until=weights"]})
    assert words.next_steps(short)[0].command == "npu-adapter verify r --weights 'w w'"
    without = report_on(PASSED, provenance={"command": ["npu-adapter", "verify", "r"]})
    assert words.next_steps(without)[0].command == ""


def test_a_command_names_the_kit_as_it_was_called() -> None:
    (step,) = words.next_steps(report_on(PASSED, program=("python3", "-m", "healthcheck")))
    assert step.command.startswith("python3 -m healthcheck verify r ")


def test_a_warning_about_the_launch_comes_before_one_about_files() -> None:
    of_files = replace(
        WARNED, id="repo/x", stage=Stage.REPO, findings=(warn(expected="a", seen="b", fix="d"),)
    )
    first, _ = words.next_steps(report_on(of_files, WARNED))
    assert first.words == "c"


def test_commands_are_on_lines_of_their_own_in_any_width(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    command = f"git commit -m '{'x ' * 40}'"
    found = fail(expected="a", seen="b", fix="commit it, or run it with sh", command=command)
    terminal.show(report_on(replace(FAILED, findings=(found,))))
    printed = [line.strip() for line in capsys.readouterr().out.splitlines()]
    assert printed.count(command) == 2


@pytest.mark.parametrize(
    "repair",
    [
        "in deploy.sh:7 remove `--port 8001`",
        "insert below line 6 of deploy.sh: `set -e`",
        "remove line 7 of deploy.sh: it has a secret",
    ],
)
def test_the_next_step_has_its_place_once(repair: str) -> None:
    failed = replace(FAILED, findings=(replace(FAILED.findings[0], fix=repair),))
    report = Report(verdict=verdict_of((failed,)), results=(failed,), asked=SUBMISSION.whole)
    assert words.next_step(report) == repair


def test_what_is_open_is_counted_apart_from_what_was_skipped() -> None:
    skipped = result(Outcome.SKIP, because="there is no requirements.txt")
    results = (PASSED, WARNED, OPEN, OPEN, skipped, FAILED, BROKEN)
    counted = words.counted(
        Report(verdict=verdict_of(results), results=results, asked=SUBMISSION.whole)
    )
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
        list(brief(Report(verdict=verdict_of(results), results=results, asked=SUBMISSION.whole)))
        == said
    )


def test_the_brief_report_has_a_line_for_each_problem_of_a_check() -> None:
    wrong = [fail(expected="a", seen=seen, fix="c") for seen in ("b", "d", "b")]
    undecided, warned = (
        unsettled(expected="i", seen="j", fix="k"),
        warn(expected="e", seen="f", fix="g"),
    )
    given = replace(FAILED, id="plan/x", findings=(*wrong, undecided, warned, note("h")))
    report = Report(verdict=verdict_of((given,)), results=(given,), asked=SUBMISSION.whole)
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


@pytest.mark.parametrize(
    ("asked", "fields", "headline"),
    [
        (SUBMISSION.whole, {"provenance": {"task": "any-to-any"}}, "ready for any-to-any"),
        (SUBMISSION.whole, {"provenance": {"task": "unknown"}}, "ready"),
        ("repo to plan", {"scope": "up to plan"}, "ready up to plan"),
        ("repo to plan", {}, "ready for the requested stages (repo to plan)"),
    ],
)
def test_a_verdict_has_the_task_and_its_scope(asked: str, fields: dict, headline: str) -> None:
    report = Report(verdict=verdict_of((PASSED,)), results=(PASSED,), asked=asked, **fields)
    assert words.headline(report) == headline
