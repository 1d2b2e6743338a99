"""Slow, busy and talkative servers are healthy: none of their requests fails for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import pytest

from healthcheck.core.records import JsonValue
from healthcheck.extensions.simulator.request import Words
from healthcheck.extensions.simulator.server import Simulator
from tests.support.probes import QUICK, Probe, behaviour, even

pytestmark = pytest.mark.process


@pytest.mark.slow
def test_a_long_queue_that_moves_is_waited_for(probe: Probe) -> None:
    """One answer at a time, a second each: the last of eight waits for longer than the server may be silent."""
    with Simulator(behaviour(accuracy=even(1.0), slots=1, tokens_per_second=30)) as server:
        run = probe(
            server.url, problems=9, samples=1, patience=replace(QUICK, silence_s=3, attempts=1)
        )
    assert max(sample.first_s for sample in run.samples) > 3, (
        "nobody had to wait: this test shows nothing"
    )
    assert not run.failed


def test_a_request_that_alone_is_never_answered_ends(probe: Probe) -> None:
    with Simulator(behaviour(faults=("never-answers",))) as server:
        run = probe(server.url, problems=2, samples=1, patience=replace(QUICK, silence_s=1))
    assert {sample.error for sample in run.samples} == {"timed out: nothing came for 1 s"}


def test_an_answer_may_take_a_second_for_each_token(probe: Probe) -> None:
    with Simulator(behaviour(accuracy=even(1.0), tokens_per_second=8)) as server:
        run = probe(server.url, problems=3, samples=1, patience=replace(QUICK, answer_s=1))
    assert min(sample.seconds for sample in run.samples) > 1
    assert not run.failed


def test_a_slow_first_token_is_no_silence_of_an_answer(probe: Probe) -> None:
    with Simulator(behaviour(accuracy=even(1.0), first_token_s=3)) as server:
        run = probe(server.url, problems=3, samples=1, patience=replace(QUICK, answer_s=2))
    assert not run.failed


@dataclass(frozen=True)
class LongTemplate(Words):
    """A chat template with a system prompt of its own."""

    tokens: int = 0

    def prompt_tokens(self, messages: Sequence[Mapping[str, JsonValue]]) -> int:
        return self.tokens + super().prompt_tokens(messages)


@pytest.mark.parametrize("tokens", [0, 300, 2000])
def test_a_template_may_have_a_system_prompt_of_its_own(probe: Probe, tokens: int) -> None:
    talker = behaviour(accuracy=even(1.0), context_tokens=4096, tokenizer=LongTemplate(tokens))
    with Simulator(talker) as server:
        run = probe(server.url)
    assert not run.failed
    assert run.settings.max_tokens >= 1000
