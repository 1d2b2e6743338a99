"""What stands before an engine in practice, nginx and LiteLLM's proxy, is no reason to object."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from healthcheck.contract import Task
from healthcheck.core.ledger import Ledger
from healthcheck.core.progress import Silent
from healthcheck.core.records import CheckResult, Outcome, Verdict, verdict_of
from healthcheck.stages.endpoint.checks import CHECKS
from healthcheck.stages.endpoint.facts import interview
from tests.support.engines import NEW, UNBUFFERED, litellm, nginx, vllm, weights_of

pytestmark = [pytest.mark.engine, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def weights() -> Path:
    return weights_of("dense")


@pytest.fixture(scope="module")
def engine(weights: Path, tmp_path_factory) -> Iterator[str]:
    with vllm(NEW, weights, tmp_path_factory.mktemp("engine")) as url:
        yield url


def judged(url: str, weights: Path) -> Ledger:
    """What the interview finds."""
    ledger = Ledger(Silent())
    ledger.judge(CHECKS, lambda: interview(url, weights=str(weights), task=Task.TEXT_GENERATION))
    return ledger


def objections(ledger: Ledger) -> list[CheckResult]:
    return [
        each
        for each in ledger.results
        if not each.settled or each.outcome not in {Outcome.PASS, Outcome.SKIP}
    ]


def test_nginx_that_does_not_buffer_is_nothing_to_object_to(
    engine: str, weights: Path, tmp_path: Path
) -> None:
    with nginx(engine, tmp_path, *UNBUFFERED) as url:
        ledger = judged(url, weights)
    assert objections(ledger) == []
    assert verdict_of(ledger.results) is Verdict.READY


def test_an_engine_behind_litellm_is_ready(engine: str, weights: Path, tmp_path: Path) -> None:
    with litellm(engine, str(weights), tmp_path) as url:
        ledger = judged(url, weights)
    assert verdict_of(ledger.results) is Verdict.READY, objections(ledger)
