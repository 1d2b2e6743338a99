"""Answers that miss the form of the prompt: their figures, their examples, and the verdicts that depend on them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from healthcheck.report import page
from healthcheck.report.measured import measured
from healthcheck.stages.probe.checks import CHECKS
from healthcheck.stages.probe.problems import AnswerKind, Problem, instruction, requested
from healthcheck.stages.probe.problems.forms import FORMS
from healthcheck.stages.probe.records import ProbeRun, Sample
from healthcheck.stages.probe.reference_run import reference_of
from healthcheck.stages.probe.results import figures, verdict
from healthcheck.stages.probe.results.metrics import compute_metrics
from healthcheck.stages.probe.run.folder import load
from healthcheck.stages.probe.statistics.gate import Decision
from tests.support import reports
from tests.support.probes import SETTINGS, judged, recorded, rewritten, seen

MANY = replace(SETTINGS, problems=120)
WITHOUT_FORM = "All in all she then has "


def missing(run: ProbeRun, share: float) -> ProbeRun:
    """The run with this share of its answers in words of their own, whose last number is the same."""
    every = round(1 / share)

    def change(sample: Sample) -> Sample:
        own_words = sample.order % every == 0
        return replace(
            sample,
            text=sample.text.replace("The answer is ", WITHOUT_FORM) if own_words else sample.text,
        )

    return rewritten(run, change)


def test_a_missed_form_is_a_figure_and_the_accuracy_stays(tmp_path: Path) -> None:
    run = load(recorded(tmp_path / "run", 1.0))
    metrics, before = compute_metrics(missing(run, 0.1)), compute_metrics(run)
    name = "accuracy (5 runs average)"
    assert metrics[name]["value"] == before[name]["value"] == 1.0
    assert metrics["accuracy_strict"]["value"] == pytest.approx(0.9)
    assert metrics["form_missed"]["value"] == pytest.approx(0.1)
    assert before["form_missed"]["value"] == 0.0
    assert before["accuracy_strict"]["value"] == 1.0


def test_a_failed_request_does_not_miss_the_form(tmp_path: Path) -> None:
    run = load(recorded(tmp_path / "run", 1.0, fail=30))
    assert len(run.failed) == 30
    assert figures.missing_form(run) == ()
    assert not measured(run).form_missed


def test_the_check_and_the_page_show_the_share_with_examples(tmp_path: Path) -> None:
    run = missing(load(recorded(tmp_path / "run", 1.0)), 0.1)
    assert "form missed in 10.0 % of the samples (30 of 300)" in seen(judged(run)["probe/accuracy"])
    shown = measured(run)
    assert shown.form_missed.startswith("Form missed in 10.0 % of the samples (30 of 300).")
    assert len(shown.missed) == 3
    assert all(WITHOUT_FORM in example for example in shown.missed)
    html = page.render(reports.report(), run).decode()
    assert "Form missed in 10.0 %" in html
    assert WITHOUT_FORM in html


def test_a_run_in_the_form_has_no_word_about_it(tmp_path: Path) -> None:
    run = load(recorded(tmp_path / "run", 0.8))
    assert "form missed" not in seen(judged(run)["probe/accuracy"])
    assert "Form missed" not in page.render(reports.report(), run).decode()


def accuracy(run: ProbeRun):
    return next(check for check in CHECKS if check.id == "probe/accuracy").judge(run)


def test_a_verdict_against_a_number_that_depends_on_the_form_is_inconclusive(
    tmp_path: Path,
) -> None:
    settings = replace(MANY, references={"all": 0.9}, margin=0.1)
    run = load(recorded(tmp_path / "run", 0.95, settings=settings))
    assert accuracy(run).outcome.value == "pass"
    half = missing(run, 0.5)
    result = accuracy(half)
    assert not result.settled
    assert "the verdict depends on answers that miss the form: passed by accuracy" in seen(result)
    assert "failed by accuracy_strict" in seen(result)
    assert "{instruction}" in " ".join(finding.fix for finding in result.findings)
    judged_run = verdict.judge(half)
    assert judged_run is not None
    assert judged_run.lenient.decision is Decision.HEALTHY
    assert judged_run.decision is Decision.OPEN
    recorded_verdict = compute_metrics(half)["verdict"]
    assert recorded_verdict["decision"] == "inconclusive"
    assert recorded_verdict["decision by accuracy"] == "healthy"
    assert recorded_verdict["decision by accuracy_strict"] == "degraded"


def test_a_few_missed_forms_do_not_open_a_clear_verdict(tmp_path: Path) -> None:
    settings = replace(MANY, references={"all": 0.9}, margin=0.2)
    run = missing(load(recorded(tmp_path / "run", 0.95, settings=settings)), 0.02)
    assert figures.missing_form(run)
    assert accuracy(run).outcome.value == "pass"


def test_a_reference_run_is_compared_form_by_form(tmp_path: Path) -> None:
    """A model that misses the form alike in both runs is judged; one that begins to miss it is not."""
    reference = missing(load(recorded(tmp_path / "gpu", 0.9, settings=MANY)), 0.5)
    settings = replace(
        MANY,
        references=figures.accuracies(reference),
        reference_run=reference_of(reference),
        margin=0.1,
    )
    again = load(recorded(tmp_path / "npu", 0.9, settings=settings, seed=2))
    assert accuracy(missing(again, 0.5)).outcome.value == "pass"
    sound = load(recorded(tmp_path / "gpu2", 0.9, settings=MANY))
    settings = replace(
        settings, references=figures.accuracies(sound), reference_run=reference_of(sound)
    )
    fallen = missing(load(recorded(tmp_path / "npu2", 0.9, settings=settings, seed=2)), 0.5)
    assert not accuracy(fallen).settled


def test_a_threshold_between_the_two_figures_is_inconclusive(tmp_path: Path) -> None:
    settings = replace(MANY, threshold=0.8)
    run = load(recorded(tmp_path / "run", 0.95, settings=settings))
    assert accuracy(run).outcome.value == "pass"
    half = accuracy(missing(run, 0.5))
    assert not half.settled
    assert "passed by accuracy, failed by accuracy_strict" in seen(half)


@pytest.mark.parametrize("kind", AnswerKind)
@pytest.mark.parametrize("language", ["en", "zh"])
def test_each_kind_of_problem_has_a_form_that_its_prompt_carries(
    kind: AnswerKind, language: str
) -> None:
    problem = Problem(
        id="x", family="qa", tier="", question="?", answer="B", kind=kind, language=language
    )
    form = FORMS[kind]
    assert instruction(problem) == (form.chinese if language == "zh" else form.english)
    if not kind.runs:
        assert form.pattern.search(requested(problem))
