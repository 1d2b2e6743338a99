"""The numerics of a real vLLM behind LiteLLM's proxy (tests/engine/test_fronts.py has the endpoint)."""

from __future__ import annotations

from pathlib import Path

import pytest

from healthcheck.core.ledger import Ledger
from healthcheck.core.progress import Silent
from healthcheck.core.records import Outcome, Verdict, verdict_of
from healthcheck.extensions.numerics import facts
from healthcheck.extensions.numerics.checks import CHECKS
from healthcheck.extensions.numerics.records import NumericsSettings
from tests.support.engines import NEW, litellm, vllm, weights_of

pytestmark = [pytest.mark.engine, pytest.mark.timeout(900)]


def test_the_numerics_of_an_engine_behind_litellm_are_compared_in_text(tmp_path: Path) -> None:
    """The proxy has no /tokenize, and no log-probabilities in streams of completions."""
    ledger, weights = Ledger(Silent()), weights_of("dense")
    with vllm(NEW, weights, tmp_path) as engine, litellm(engine, str(weights), tmp_path) as url:
        run = ledger.judge(
            CHECKS, lambda: facts.measure(NumericsSettings(url=url, pairs=4), Silent())
        )
    assert run
    assert not run.server.takes_ids
    assert run.server.logprobs == 20
    assert verdict_of(ledger.results) is Verdict.READY, [r for r in ledger.results if r.findings]
    assert ledger.result("numerics/batch").outcome is Outcome.PASS
    assert "streams" in ledger.result("numerics/interface").because
