"""Healthy servers of every dialect pass; each named fault trips its own check, and no other."""

from __future__ import annotations

import pytest

from healthcheck.contract import Task
from healthcheck.core.ledger import Ledger
from healthcheck.core.progress import Silent
from healthcheck.core.records import CheckResult, Outcome
from healthcheck.extensions.simulator import DIALECTS, FAULTS, Behaviour, Simulator
from healthcheck.stages.endpoint.checks import CHECKS
from healthcheck.stages.endpoint.facts import interview
from healthcheck.wire.client import Limits
from tests.support.daily import every, these

WEIGHTS = "/weights/模型 a"
IMPATIENT = Limits(first_event_s=4.0, between_events_s=3.0, total_s=12.0)
PATIENT = Limits(first_event_s=60, between_events_s=60, total_s=120)
"""For servers that answer: how long a busy machine takes for that is not a fault of theirs."""
HANGING = {
    "hangs",
    "never-answers",
    "stalls",
    "hangs-in-a-crowd",
    "hangs-at-45",
    "stuck-after-disconnect",
    "stuck-after-bad-request",
}

# Answers at the least temperature that it takes may differ, and then the two forms cannot be compared.
OPEN = {"strictly-positive": {"endpoint/stream-equals-plain"}}


# A prompt that grows by what others say is answered in another way each time, and fills the context at some time.
ALSO = {"shared-history": {"endpoint/max-tokens", "endpoint/sampling"}}


def judge(
    behaviour: Behaviour, task: Task = Task.IMAGE_TEXT_TO_TEXT, limits: Limits = PATIENT
) -> dict[str, CheckResult]:
    limits = IMPATIENT if HANGING & set(behaviour.faults) else limits
    with Simulator(behaviour) as simulator:
        ledger = Ledger(Silent())
        ledger.judge(
            CHECKS, lambda: interview(simulator.url, weights=WEIGHTS, task=task, limits=limits)
        )
    return {result.id: result for result in ledger.results}


def objections(results: dict[str, CheckResult]) -> dict[str, Outcome]:
    return {
        name: r.outcome
        for name, r in results.items()
        if r.outcome not in {Outcome.PASS, Outcome.SKIP}
    }


@pytest.mark.process
@pytest.mark.parametrize("dialect", every(2, DIALECTS))
def test_every_healthy_dialect_passes_every_check(dialect: str) -> None:
    results = judge(Behaviour(model=WEIGHTS, dialect=dialect))
    assert objections(results) == {}
    skipped = {name for name, result in results.items() if result.outcome is Outcome.SKIP}
    assert skipped <= {"endpoint/stream-incremental", *OPEN.get(dialect, ())}, (
        "an instant answer may leave it open"
    )


@pytest.mark.process
@pytest.mark.parametrize("dialect", every(2, ["vllm", "split", "reasoning", "usage-always"]))
def test_at_a_real_servers_pace_no_question_stays_open(dialect: str) -> None:
    results = judge(Behaviour(model=WEIGHTS, dialect=dialect, tokens_per_second=800))
    assert {result.outcome for result in results.values()} == {Outcome.PASS}


@pytest.mark.slow
def test_a_server_that_serves_one_request_after_another_gets_the_time_that_its_queue_takes() -> (
    None
):
    """Sixteen requests take longer than one is given for its first text."""
    results = judge(
        Behaviour(model=WEIGHTS, slots=1, first_token_s=0.3), Task.TEXT_GENERATION, IMPATIENT
    )
    assert objections(results) == {}


@pytest.mark.process
def test_a_model_that_answers_nonsense_over_a_correct_protocol_passes() -> None:
    assert objections(judge(Behaviour(model=WEIGHTS, competent=False))) == {}


@pytest.mark.process
def test_a_model_that_says_little_passes() -> None:
    assert objections(judge(Behaviour(model=WEIGHTS, competent=False, answer_tokens=1))) == {}


@pytest.mark.process
@pytest.mark.parametrize("dialect", ["no-usage", "transformers"])
def test_nonsense_without_token_counts_passes(dialect: str) -> None:
    results = judge(Behaviour(model=WEIGHTS, dialect=dialect, competent=False))
    assert objections(results) == {}
    assert "repeat a code word" in results["endpoint/multi-turn"].because


@pytest.mark.process
def test_a_short_context_passes() -> None:
    for dialect in ("vllm", "llamacpp"):
        assert (
            objections(judge(Behaviour(model=WEIGHTS, dialect=dialect, context_tokens=512))) == {}
        )


@pytest.mark.process
def test_long_answers_that_are_all_reasoning_are_told_from_thoughts_that_were_cut() -> None:
    results = judge(
        Behaviour(model=WEIGHTS, competent=False, answer_tokens=200, faults=("reasoning-only",))
    )
    assert objections(results) == {"endpoint/stream": Outcome.FAIL}


OF_ENDPOINTS = [name for name, fault in FAULTS.items() if fault.check.startswith("endpoint/")]
FIRST_OF_ITS_CHECK = {FAULTS[name].check: name for name in reversed(OF_ENDPOINTS)}.values()
DAILY = [
    name for name in FIRST_OF_ITS_CHECK if not FAULTS[name].check.endswith("/stream-incremental")
]


@pytest.mark.process
@pytest.mark.parametrize("name", these(DAILY, OF_ENDPOINTS))
def test_a_fault_trips_its_check_and_no_other(name: str) -> None:
    fault = FAULTS[name]
    results = judge(Behaviour(model=WEIGHTS, faults=(name,)))
    found = {
        check: seen
        for check, seen in objections(results).items()
        if check not in ALSO.get(name, ())
    }
    assert found == {fault.check: Outcome.WARN if fault.warns else Outcome.FAIL}
    for finding in results[fault.check].findings:
        assert finding.expected
        assert finding.seen
        assert finding.fix


@pytest.mark.process
@pytest.mark.parametrize("name", ["forgets-history", "forgets-system", "cuts-prompt"])
def test_what_is_not_heard_is_found_without_token_counts(name: str) -> None:
    results = judge(Behaviour(model=WEIGHTS, faults=(name,), dialect="no-usage"))
    assert set(objections(results)) == {FAULTS[name].check}


@pytest.mark.process
@pytest.mark.parametrize(
    "name", every(2, ["cut-characters", "hides-truncation", "special-tokens", "caps-output"])
)
@pytest.mark.parametrize("dialect", every(3, ["tgi", "llamacpp", "reasoning"]))
def test_faults_are_found_in_other_dialects_too(name: str, dialect: str) -> None:
    assert FAULTS[name].check in objections(
        judge(Behaviour(model=WEIGHTS, faults=(name,), dialect=dialect))
    )


def test_every_check_names_a_fault_that_trips_it() -> None:
    for check in CHECKS:
        named = [name for name, fault in FAULTS.items() if fault.check == check.id]
        assert named, f"no fault trips {check.id}"
        for name in named:
            assert name in check.page, f"the page of {check.id} does not name {name}"


def test_a_server_that_is_not_there_fails_and_is_not_passed_by() -> None:
    ledger = Ledger(Silent())
    ledger.judge(CHECKS, lambda: interview("http://127.0.0.1:9", weights=WEIGHTS))
    results = {result.id: result.outcome for result in ledger.results}
    assert results["endpoint/models"] is Outcome.FAIL
    assert Outcome.PASS not in results.values()


@pytest.mark.process
@pytest.mark.parametrize("after", every(2, [0, 1, 3, 10, 40, 60]))
def test_a_server_that_dies_on_the_way_fails(after: int) -> None:
    assert (
        Outcome.FAIL
        in objections(judge(Behaviour(model=WEIGHTS, faults=(f"dies-after-{after}",)))).values()
    )


@pytest.mark.process
def test_pictures_are_not_shown_for_text_generation() -> None:
    results = judge(Behaviour(model=WEIGHTS, faults=("refuses-images",)), Task.TEXT_GENERATION)
    assert results["endpoint/image"].outcome is Outcome.SKIP
    assert objections(results) == {}
