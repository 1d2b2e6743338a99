"""A run held against a number or against another run: what is decided, what is refused, what is said."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from healthcheck.cli import main
from healthcheck.core.records import CheckResult
from healthcheck.errors import UsageError
from healthcheck.extensions.simulator.server import Simulator
from healthcheck.stages.probe.checks import CHECKS
from healthcheck.stages.probe.records import ProbeRun, ProbeSettings
from healthcheck.stages.probe.reference_run import reference_of
from healthcheck.stages.probe.results import figures
from healthcheck.stages.probe.results.metrics import compute_metrics
from healthcheck.stages.probe.run.bank import bank, refuse_unlike
from healthcheck.stages.probe.run.folder import JOURNAL, Outcome, load, write_outcome
from tests.support.probes import SETTINGS, behaviour, even, recorded

SOUND = {"easy": 0.95, "medium": 0.7, "hard": 0.5}
FALLEN = {"easy": 0.99, "medium": 0.05, "hard": 0.02}
MANY = replace(SETTINGS, problems=120)


def against(reference: ProbeRun, settings: ProbeSettings = MANY) -> ProbeSettings:
    return replace(
        settings, references=figures.accuracies(reference), reference_run=reference_of(reference)
    )


def accuracy_of(run: ProbeRun) -> CheckResult:
    return next(check for check in CHECKS if check.id == "probe/accuracy").judge(run)


def told(result: CheckResult) -> str:
    return " ".join(f"{finding.seen} {finding.fix}" for finding in result.findings)


def test_a_server_that_keeps_only_the_easy_tier_is_degraded(tmp_path: Path) -> None:
    reference = load(recorded(tmp_path / "gpu", SOUND, settings=MANY))
    run = load(recorded(tmp_path / "npu", FALLEN, settings=against(reference), seed=2))
    result = accuracy_of(run)
    assert result.outcome.value == "fail"
    assert "degraded: a loss is shown at an error of 1 %" in told(result)
    assert compute_metrics(run)["verdict"]["problems"] == "all"


@pytest.mark.process
def test_the_command_rejects_the_server_that_keeps_only_the_easy_tier(tmp_path: Path) -> None:
    reference, out = (
        str(recorded(tmp_path / "gpu", SOUND, settings=replace(MANY, seed=0))),
        str(tmp_path / "npu"),
    )
    with Simulator(behaviour(accuracy=FALLEN)) as server:
        assert main(["probe", server.url, "--reference", reference, "--full", "--out", out]) == 1


def test_the_same_server_again_is_healthy_and_the_loss_it_may_have_is_said(tmp_path: Path) -> None:
    reference = load(recorded(tmp_path / "gpu", SOUND, settings=MANY))
    run = load(
        recorded(tmp_path / "npu", SOUND, settings=replace(against(reference), margin=0.1), seed=2)
    )
    result = accuracy_of(run)
    assert result.outcome.value == "pass"
    assert (
        "healthy: a loss of 10.0 points or more is excluded at an error of 1 %, a smaller one is not"
        in told(result)
    )


def test_an_open_question_says_how_many_more_samples_it_takes(tmp_path: Path) -> None:
    reference = load(recorded(tmp_path / "gpu", SOUND, settings=MANY))
    run = load(
        recorded(tmp_path / "npu", SOUND, settings=replace(against(reference), margin=0.02), seed=2)
    )
    result = accuracy_of(run)
    assert not result.settled
    assert "not settled after 600 samples" in told(result)
    assert "more samples would settle it" in told(result)
    verdict = compute_metrics(run)["verdict"]
    assert verdict["decision"] == "inconclusive"
    assert verdict["margin"] == 0.02 < verdict["settles"]
    assert verdict["needed"] > 600
    assert verdict["more samples"] > 600


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"seed": 5}, "other problems"),
        (
            {"problems": 60},
            "it asked 120 problems, and not 60: use .*gpu/configs/probe.toml has them",
        ),
        ({"samples": 2}, "samples was 5 and is 2: use --samples 5"),
        ({"temperature": 0.0}, "temperature was 0.7 and is 0.0: use --temperature 0.7"),
        ({"max_tokens": 64}, "max-tokens was 4096 and is 64: use --max-tokens 4096"),
    ],
)
def test_a_reference_that_asked_something_else_is_refused(
    tmp_path: Path, change: dict[str, float], reason: str
) -> None:
    reference = load(recorded(tmp_path / "gpu", SOUND, settings=MANY))
    settings = replace(against(reference), **change)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=reason):
        refuse_unlike(settings, bank(settings))


@pytest.mark.process
def test_the_command_refuses_another_reference_and_takes_no_sample(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    reference = str(
        recorded(tmp_path / "gpu", 0.9, settings=replace(SETTINGS, seed=0, temperature=0.2))
    )
    with Simulator(behaviour(accuracy=even(0.9))) as server:
        options = ["--problems", "60", "--reference", reference, "--out", str(tmp_path / "npu")]
        assert main(["probe", server.url, *options]) == 2
    assert "temperature was 0.2 and is 0.7" in capsys.readouterr().err
    assert not (tmp_path / "npu" / JOURNAL).exists()


@pytest.mark.parametrize("margin", ["80", "99"])
def test_a_margin_that_no_loss_exceeds_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], margin: str
) -> None:
    options = ["--reference", "0.8", "--margin", margin, "--out", str(tmp_path / "run")]
    assert main(["probe", "http://127.0.0.1:9", *options]) == 2
    assert f"a margin of {margin} points calls no server worse" in capsys.readouterr().err


def test_a_reference_that_ended_early_is_refused(tmp_path: Path) -> None:
    folder = recorded(tmp_path / "gpu", 0.9)
    lines = (folder / JOURNAL).read_bytes().splitlines(keepends=True)
    (folder / JOURNAL).write_bytes(b"".join(lines[:200]))
    write_outcome(folder, Outcome(stopped="the evidence is clear", seconds=1.0))
    with pytest.raises(UsageError, match="it ended early"):
        reference_of(load(folder))


@pytest.mark.parametrize(
    ("accuracy", "change", "fail", "reason"),
    [
        (0.9, {}, 3, "probe/completes did not pass: 3 failed"),
        (0.5, {"threshold": 0.9}, 0, "probe/accuracy did not pass: accuracy"),
        (0.0, {}, 0, "probe/accuracy did not pass: accuracy"),
    ],
)
def test_a_reference_that_is_not_sound_is_refused(
    tmp_path: Path, accuracy: float, change: dict[str, float], fail: int, reason: str
) -> None:
    settings = replace(SETTINGS, **change)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=reason):
        reference_of(load(recorded(tmp_path / "gpu", accuracy, settings=settings, fail=fail)))


def test_a_weak_model_can_be_the_reference_of_itself(tmp_path: Path) -> None:
    reference = load(recorded(tmp_path / "gpu", 0.25, settings=MANY))
    assert not accuracy_of(reference).settled  # a key word reaches more
    settings = replace(against(reference), margin=0.15)
    assert (
        accuracy_of(load(recorded(tmp_path / "npu", 0.25, settings=settings, seed=2))).outcome.value
        == "pass"
    )
    assert (
        accuracy_of(
            load(recorded(tmp_path / "dead", 0.02, settings=settings, seed=2))
        ).outcome.value
        == "fail"
    )


@pytest.mark.process
def test_a_threshold_gets_all_samples_beside_a_reference(tmp_path: Path) -> None:
    with Simulator(behaviour(accuracy=even(0.9))) as server:
        options = ["--problems", "60", "--reference", "0.85", "--margin", "30", "--threshold", ".6"]
        assert main(["probe", server.url, *options, "--out", str(tmp_path / "run")]) == 0
    report = json.loads((tmp_path / "run" / "report.json").read_text())
    assert report["metrics"]["samples"] == 300
    assert report["metrics"]["verdict"]["samples"] < 60


@pytest.mark.process
def test_what_the_samples_settle_is_said_before_the_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Simulator(behaviour(accuracy=even(0.0))) as server:
        main(
            [
                "probe",
                server.url,
                "--reference",
                "0.8",
                "--margin",
                "5",
                "--out",
                str(tmp_path / "run"),
            ]
        )
    said = capsys.readouterr().err
    assert "a loss of 5.0 points needs about" in said
    assert "the 600 asked for settle" in said


@pytest.mark.parametrize(("accuracy", "inconclusive"), [(0.02, True), (0.0, True), (0.6, False)])
def test_less_than_a_constant_answer_reaches_is_inconclusive(
    tmp_path: Path, accuracy: float, inconclusive: bool
) -> None:
    result = accuracy_of(load(recorded(tmp_path / "run", accuracy, settings=MANY)))
    assert result.settled is not inconclusive
    assert ("--reference with a run" in told(result)) is inconclusive


def test_the_baseline_is_of_these_problems_and_so_is_the_interval(tmp_path: Path) -> None:
    few = replace(
        SETTINGS, problems=24
    )  # a constant answer reaches 4 of 24; five times 24 samples reach 5 %
    result = accuracy_of(load(recorded(tmp_path / "run", 0.05, settings=few)))
    assert not result.settled


def test_a_few_right_answers_to_few_problems_stay_unjudged(tmp_path: Path) -> None:
    few = replace(SETTINGS, problems=3, samples=1)
    run = load(recorded(tmp_path / "run", {"easy": 1.0, "medium": 0.0, "hard": 0.0}, settings=few))
    assert accuracy_of(run).settled
