"""Models as they behave, on servers of every dialect and pace: none of them is rejected, and an open question says why.

Whatever a model says, it is not a fault of its server; and a slow server is not a silent one.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import product

import pytest

from healthcheck.contract import Task
from healthcheck.core.ledger import Ledger
from healthcheck.core.progress import Silent
from healthcheck.core.records import CheckResult, Outcome, Verdict, verdict_of
from healthcheck.extensions.simulator import DIALECTS, Behaviour, Manner, Simulator
from healthcheck.stages.endpoint.checks import CHECKS
from healthcheck.stages.endpoint.facts import interview
from healthcheck.stages.endpoint.waits import FIRST
from healthcheck.wire.client import Limits

pytestmark = pytest.mark.process

MODEL = "m"
SAMPLE = dict(zip(Manner, ["vllm", "reasoning", "tgi", "sglang", "llamacpp", "transformers", "mindie", "grouped", "lmdeploy",
                           "vllm"], strict=True))  # fmt: skip
"""One dialect for each manner, for every day; all of them are in the slow tests."""
TENTH = replace(
    FIRST, first_event_s=FIRST.first_event_s / 10, between_events_s=FIRST.between_events_s / 10
)
PATIENT = {
    "first token after 90 s, at a tenth of all times": (
        TENTH,
        {"first_token_s": 9.0, "tokens_per_second": 300.0},
    ),
    "3 tokens/s": (FIRST, {"tokens_per_second": 3.0}),
}
QUICK = {"tokens_per_second": 800.0}


def judge(
    behaviour: Behaviour, task: Task = Task.IMAGE_TEXT_TO_TEXT, limits: Limits = FIRST
) -> tuple[CheckResult, ...]:
    """The endpoint stage as `verify` has it, with its own patience."""
    with Simulator(behaviour) as simulator:
        ledger = Ledger(Silent())
        ledger.judge(
            CHECKS, lambda: interview(simulator.url, model=MODEL, task=task, limits=limits)
        )
    return ledger.results


def rejections(results: tuple[CheckResult, ...]) -> dict[str, str]:
    """What speaks against a server, and what was left open without a word of why."""
    return {
        result.id: result.because or "; ".join(finding.seen for finding in result.findings)
        for result in results
        if result.outcome in {Outcome.FAIL, Outcome.ERROR}
        or (result.outcome is Outcome.SKIP and not result.because)
    }


@pytest.mark.parametrize(
    ("manner", "dialect"), SAMPLE.items(), ids=lambda value: getattr(value, "value", value)
)
def test_no_manner_is_rejected(manner: Manner, dialect: str) -> None:
    results = judge(Behaviour(model=MODEL, manner=manner, dialect=dialect))
    assert rejections(results) == {}
    assert verdict_of(results) is not Verdict.NOT_READY


@pytest.mark.slow
@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("manner", Manner, ids=lambda manner: manner.value)
def test_no_manner_is_rejected_in_any_dialect(manner: Manner, dialect: str) -> None:
    assert rejections(judge(Behaviour(model=MODEL, manner=manner, dialect=dialect))) == {}


@pytest.mark.slow
@pytest.mark.parametrize("dialect", DIALECTS)
def test_no_quick_server_is_rejected(dialect: str) -> None:
    assert rejections(judge(Behaviour(model=MODEL, dialect=dialect, **QUICK))) == {}


@pytest.mark.slow
@pytest.mark.parametrize("manner", Manner, ids=lambda manner: manner.value)
def test_no_manner_is_rejected_at_a_real_servers_pace(manner: Manner) -> None:
    assert rejections(judge(Behaviour(model=MODEL, manner=manner, tokens_per_second=200))) == {}


@pytest.mark.slow
def test_a_quick_stream_after_a_long_wait_is_no_burst() -> None:
    """The longest answer takes a third of a second, after eight: a queue and a quick engine, not a buffer."""
    assert (
        rejections(judge(Behaviour(model=MODEL, first_token_s=8.0, **QUICK), Task.TEXT_GENERATION))
        == {}
    )


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_no_slow_server_is_given_up() -> None:
    """All of them side by side: they sleep for most of the time. An interview waits for some twenty first tokens."""
    tried = list(product(PATIENT, DIALECTS))

    def each(case: tuple[str, str]) -> dict[str, str]:
        pace, dialect = case
        limits, behaviour = PATIENT[pace]
        return rejections(
            judge(
                Behaviour(model=MODEL, dialect=dialect, **behaviour), Task.TEXT_GENERATION, limits
            )
        )

    with ThreadPoolExecutor(max_workers=len(tried)) as pool:
        found = dict(zip(tried, pool.map(each, tried), strict=True))
    assert {case: rejected for case, rejected in found.items() if rejected} == {}
