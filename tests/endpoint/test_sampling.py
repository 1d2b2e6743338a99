"""endpoint/sampling: equal answers, and what they prove."""

from __future__ import annotations

import pytest

from healthcheck.core.records import Outcome
from healthcheck.stages.endpoint import checks
from healthcheck.stages.endpoint.records import Sampling
from healthcheck.wire.client import Exchange
from tests.endpoint.by_hand import interview, streamed


def alike(text: str, logprob: float | None = None, count: int = 4) -> tuple[Exchange, ...]:
    return (streamed(text, mean_logprob=logprob),) * count


STEADY_TEXT = "the wind was cold and the sea was grey that night " * 4


@pytest.mark.parametrize(
    ("samples", "outcome"),
    [
        (Sampling(warm=(*alike("one"), streamed("two"))), Outcome.PASS),
        (Sampling(warm=alike("one"), hot=(*alike("one two"), streamed("three"))), Outcome.PASS),
        (
            Sampling(
                warm=alike("one"), hot=alike(STEADY_TEXT), freed=(*alike("one"), streamed("two"))
            ),
            Outcome.WARN,
        ),
        (Sampling(warm=alike("one"), hot=alike(STEADY_TEXT)), Outcome.FAIL),
        (
            Sampling(
                warm=alike("one"), hot=alike(STEADY_TEXT), freed=alike(STEADY_TEXT, logprob=-0.8)
            ),
            Outcome.FAIL,
        ),
        (
            Sampling(
                warm=alike("one"), hot=alike(STEADY_TEXT), freed=alike(STEADY_TEXT, logprob=-1e-3)
            ),
            Outcome.SKIP,
        ),
        (Sampling(warm=alike("one"), hot=alike("one")), Outcome.SKIP),
    ],
)
def test_equal_answers_are_a_fault_where_chance_cannot_make_them(
    samples: Sampling, outcome: Outcome
) -> None:
    facts = interview(streamed(), streams=(streamed(), streamed()), sampling=samples)
    assert checks.sampling.judge(facts).outcome is outcome


SHORT = "The old keeper left the lamp in the rain."
BEYOND = tuple(
    streamed(SHORT + nonsense, finish_reason="length")
    for nonsense in (" zor", " mip", " zor", " lan")
)


@pytest.mark.parametrize(
    ("freed", "outcome"),
    [
        pytest.param(alike(SHORT, -0.3, 12), Outcome.FAIL, id="they should differ"),
        pytest.param(alike(SHORT, -0.01, 12), Outcome.SKIP, id="the model is sure of them"),
        pytest.param(alike(SHORT, None, 12), Outcome.SKIP, id="it does not tell how sure"),
        pytest.param((*alike(SHORT, -0.3, 11), streamed("A fox.")), Outcome.PASS, id="they do"),
    ],
)
def test_answers_that_differ_only_beyond_their_end_are_equal(
    freed: tuple[Exchange, ...], outcome: Outcome
) -> None:
    """A greedy engine that must go on ties among words that mean nothing."""
    samples = Sampling(warm=alike(SHORT), hot=BEYOND, freed=freed)
    facts = interview(streamed(), streams=(streamed(), streamed()), sampling=samples)
    assert checks.sampling.judge(facts).outcome is outcome
