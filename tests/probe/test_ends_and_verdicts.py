"""What ends a run early, and what its reference, its threshold and its truncated answers say."""

from __future__ import annotations

from dataclasses import replace

import pytest

from healthcheck.core.records import Level, Outcome
from healthcheck.extensions.simulator.server import Simulator
from healthcheck.stages.probe.records import EndedBy
from tests.support.probes import Probe, behaviour, even, judged, rewritten, seen


@pytest.mark.process
def test_answers_that_never_end_fail(probe: Probe) -> None:
    with Simulator(behaviour(answer_tokens=4000)) as server:
        run = probe(server.url, max_tokens=2000)
    result = judged(run)["probe/truncated"]
    assert result.outcome is Outcome.FAIL
    assert "36 of 36 were cut at max_tokens=2000" in seen(result)


@pytest.mark.process
def test_reasoning_that_does_not_fit_settles_nothing(probe: Probe) -> None:
    with Simulator(behaviour(dialect="reasoning", answer_tokens=60)) as server:
        run = probe(server.url, max_tokens=5)
    result = judged(run)["probe/truncated"]
    assert (result.outcome, result.settled) == (Outcome.SKIP, False)
    assert "while reasoning" in seen(result)
    assert judged(run)["probe/degenerate"].outcome is Outcome.PASS, (
        "an answer that had no room is not degenerate"
    )


@pytest.mark.process
@pytest.mark.parametrize(
    ("accuracy", "outcome", "settled"),
    [(0.8, "pass", True), (0.05, "fail", True), (0.0, "fail", True)],
)
def test_a_reference_gives_a_verdict_and_stops_early(
    probe: Probe, accuracy: float, outcome: str, settled: bool
) -> None:
    with Simulator(behaviour(accuracy=even(accuracy))) as server:
        run = probe(server.url, problems=120, samples=5, references={"all": 0.8}, margin=0.3)
    result = judged(run)["probe/accuracy"]
    assert (result.outcome.value, result.settled) == (outcome, settled)
    assert len(run.samples) < 240
    assert judged(run)["probe/completes"].outcome is Outcome.PASS


@pytest.mark.process
@pytest.mark.parametrize("full", [False, True])
def test_a_server_whose_first_64_answers_are_all_cut_is_asked_no_further(
    probe: Probe, full: bool
) -> None:
    with Simulator(behaviour(faults=("always-length",))) as server:
        run = probe(server.url, problems=60, full=full)
    if full:
        assert (len(run.samples), run.stopped) == (180, "")
    else:
        assert 64 <= len(run.samples) <= 64 + run.settings.concurrency
        assert run.ended_by is EndedBy.CUT
    assert judged(run)["probe/completes"].outcome is Outcome.PASS


@pytest.mark.process
def test_full_takes_every_sample_in_spite_of_a_clear_verdict(probe: Probe) -> None:
    with Simulator(behaviour(accuracy=even(0.0))) as server:
        run = probe(server.url, problems=60, references={"all": 0.8}, full=True)
    assert len(run.samples) == run.planned
    assert judged(run)["probe/accuracy"].outcome is Outcome.FAIL


@pytest.mark.process
def test_failed_requests_are_wrong_answers_to_the_gate(probe: Probe) -> None:
    """A server that answers every third request, each of them right, is not healthy."""
    with Simulator(behaviour(accuracy=even(1.0))) as server:
        run = probe(server.url, problems=60, samples=1, references={"all": 0.8}, full=True)
    assert judged(run)["probe/accuracy"].outcome is Outcome.PASS
    flaky = rewritten(
        run, lambda each: replace(each, text="", error="HTTP 500") if each.order % 3 else each
    )
    result = judged(flaky)["probe/accuracy"]
    assert result.outcome is Outcome.FAIL
    assert "degraded" in seen(result)


@pytest.mark.process
def test_too_little_evidence_is_inconclusive_and_no_pass(probe: Probe) -> None:
    with Simulator(behaviour(accuracy=even(0.6))) as server:
        few = probe(server.url, problems=6, references={"all": 0.8})
    result = judged(few)["probe/accuracy"]
    assert (result.outcome, result.settled) == (Outcome.SKIP, False)


@pytest.mark.process
@pytest.mark.parametrize(("threshold", "outcome"), [(0.2, "pass"), (0.9, "fail"), (0.5, "skip")])
def test_a_threshold_is_judged_by_the_interval(
    probe: Probe, threshold: float, outcome: str
) -> None:
    with Simulator(behaviour(accuracy=even(0.5))) as server:
        run = probe(server.url, problems=30, threshold=threshold)
    assert judged(run)["probe/accuracy"].outcome.value == outcome


@pytest.mark.process
def test_without_a_reference_nothing_is_judged_but_no_right_answer_is_told(probe: Probe) -> None:
    with Simulator(behaviour(accuracy=even(0.0))) as server:
        run = probe(server.url)
    result = judged(run)["probe/accuracy"]
    assert not result.settled
    levels = {finding.level for finding in result.findings}
    assert levels == {Level.NOTE, Level.WARN, Level.UNSETTLED}  # 12 problems are few
