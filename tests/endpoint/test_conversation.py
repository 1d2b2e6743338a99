"""Checks of what a server hears: turns, system messages, long prompts. Interviews that were written by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from healthcheck.core.records import Outcome
from healthcheck.stages.endpoint import checks
from healthcheck.stages.endpoint.records import Conversation, Recall, Step
from healthcheck.wire.chat import Usage
from healthcheck.wire.client import Exchange
from tests.endpoint.by_hand import interview, streamed


def counted(count: int, text: str = "one code", **fields: object) -> Exchange:
    return streamed(text, usage=Usage(prompt_tokens=count, completion_tokens=2), **fields)


def talked(*, history: int, system: int, **fields: object) -> Conversation:
    """Counts of the longer prompts; the shorter ones have 100 tokens."""
    usual = {
        "word": "kalo77", "alone": counted(20), "same": counted(100), "shots": counted(300),
        "history": counted(100), "history_longer": counted(history),
        "system": counted(100), "system_longer": counted(system), "recalls": (),
    }  # fmt: skip
    return Conversation(**{**usual, **fields})  # type: ignore[arg-type]


def steps(*counts: int | None, units: tuple[int, ...] = (1, 3, 25, 100)) -> tuple[Step, ...]:
    exchanges = [streamed(usage=None) if count is None else counted(count) for count in counts]
    return tuple(
        Step(units=n, exchange=exchange) for n, exchange in zip(units, exchanges, strict=False)
    )


@pytest.mark.parametrize(
    ("history", "system", "turns", "role"),
    [
        (180, 181, Outcome.PASS, Outcome.PASS),
        (100, 180, Outcome.FAIL, Outcome.PASS),
        (180, 100, Outcome.PASS, Outcome.FAIL),
        (180, 99, Outcome.PASS, Outcome.FAIL),
    ],
)
def test_a_message_that_grows_must_make_the_prompt_grow(
    history: int, system: int, turns: Outcome, role: Outcome
) -> None:
    facts = interview(
        streamed(), conversation=talked(history=history, system=system), steps=steps(100, 180)
    )
    assert checks.multi_turn.judge(facts).outcome is turns
    assert checks.system_role.judge(facts).outcome is role


def saying(exchange: Exchange, *contents: str) -> Exchange:
    messages = [{"role": "user", "content": content} for content in contents]
    return replace(exchange, sent={"stream": True, "max_tokens": 16, "messages": messages})


@pytest.mark.parametrize(("answered", "outcome"), [(200, Outcome.SKIP), (2000, Outcome.FAIL)])
def test_a_conversation_is_not_refused_for_its_length_where_longer_prompts_are_answered(
    answered: int, outcome: Outcome
) -> None:
    refused = Exchange(status=400, body=b'{"error": "messages must have length 1"}')
    talk = talked(history=180, system=180, shots=saying(refused, "a" * 100, "b" * 50, "c" * 50))
    longest = Step(units=3, exchange=saying(counted(180), "d" * answered))
    facts = interview(streamed(), conversation=talk, steps=(*steps(100), longest))
    assert checks.multi_turn.judge(facts).outcome is outcome


def test_counts_that_never_grow_are_wrong_counts_and_no_lost_turns() -> None:
    facts = interview(
        streamed(), conversation=talked(history=100, system=100), steps=steps(100, 100)
    )
    assert checks.stream_usage.judge(facts).outcome is Outcome.FAIL
    assert checks.multi_turn.judge(facts).outcome is Outcome.SKIP
    assert checks.system_role.judge(facts).outcome is Outcome.SKIP


@pytest.mark.parametrize(
    ("counts", "outcome"),
    [
        ((100, 180, 1060, 4060), Outcome.PASS),
        ((100, 180, 1060, 2030), Outcome.FAIL),
        ((100, 180, 530, 2030), Outcome.FAIL),
        ((100, 180, 1060, 3500), Outcome.FAIL),
        ((100, 179, 1045, 3990), Outcome.PASS),
        ((2100, 2180, 3060, 6060), Outcome.PASS),
        ((100, 180), Outcome.SKIP),
        ((None, None, None, None), Outcome.SKIP),
    ],
    ids=str,
)
def test_a_cut_is_seen_by_differences(counts: tuple[int | None, ...], outcome: Outcome) -> None:
    facts = interview(
        streamed(), conversation=talked(history=180, system=180), steps=steps(*counts)
    )
    assert checks.long_prompt.judge(facts).outcome is outcome


@pytest.mark.parametrize(
    ("body", "context", "outcome"),
    [
        (b"This model's maximum context length is 512 tokens", 512, Outcome.SKIP),
        (b"This model's maximum context length is 512 tokens", None, Outcome.SKIP),
        (b"This model's maximum context length is 512 tokens", 65536, Outcome.FAIL),
        (
            b"Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096.",
            None,
            Outcome.SKIP,
        ),
        (
            b"Input validation error: `inputs` must have less than 4095 tokens. Given: 5012",
            None,
            Outcome.SKIP,
        ),
        (b"internal error", 65536, Outcome.FAIL),
    ],
)
def test_a_refusal_is_judged_by_what_the_context_has_room_for(
    body: bytes, context: int | None, outcome: Outcome
) -> None:
    card = f', "max_model_len": {context}' if context else ""
    listed = Exchange(status=200, body=f'{{"data": [{{"id": "/weights"{card}}}]}}'.encode())
    refused = Exchange(status=400, body=body, sent={"stream": True, "max_tokens": 16})
    far = (*steps(100, 180), Step(units=25, exchange=refused))
    facts = interview(
        streamed(), models=listed, steps=far, conversation=talked(history=180, system=180)
    )
    assert checks.long_prompt.judge(facts).outcome is outcome


@pytest.mark.parametrize(
    ("told", "outcome"),
    [
        ([(True, True)], Outcome.PASS),
        ([(False, False)], Outcome.PASS),
        ([(True, False), (True, True), (True, True)], Outcome.PASS),
        ([(True, False)] * 3, Outcome.FAIL),
    ],
)
def test_the_last_of_three_turns_must_be_known(
    told: list[tuple[bool, bool]], outcome: Outcome
) -> None:
    said = {True: "It is kalo77.", False: "I do not know."}
    recalls = tuple(
        Recall(word="kalo77", single=streamed(said[single]), last=streamed(said[last]))
        for single, last in told
    )
    talk = talked(history=180, system=180, recalls=recalls)
    facts = interview(streamed(), conversation=talk, steps=steps(100, 180))
    assert checks.multi_turn.judge(facts).outcome is outcome


def test_a_word_that_others_were_told_is_a_shared_history() -> None:
    for answer, outcome in (("I was told none.", Outcome.PASS), ("It is kalo77.", Outcome.FAIL)):
        told = streamed("The code word is kalo77.")
        talk = talked(history=180, system=180, alone=streamed(answer), same=told)
        assert checks.isolation.judge(interview(streamed(), conversation=talk)).outcome is outcome


def test_an_echo_of_what_was_told_shows_no_memory() -> None:
    echo = streamed("The code word is kalo77. Remember it. The road follows", usage=None)
    other = streamed("What is the code word?", usage=None)
    talk = talked(
        history=180, system=180, same=echo, alone=other, history_longer=other, system_longer=other
    )
    facts = interview(
        streamed(), conversation=replace(talk, history=other, system=other), steps=steps(None, None)
    )
    for each in (checks.multi_turn, checks.system_role, checks.isolation):
        assert each.judge(facts).outcome is Outcome.SKIP


def test_a_model_may_keep_a_system_message_secret() -> None:
    told, refusal = (
        streamed("It is kalo77.", usage=None),
        streamed("I cannot share that.", usage=None),
    )
    talk = talked(
        history=180,
        system=180,
        same=told,
        alone=refusal,
        system_again=(refusal,) * 2,
        history_again=(refusal,) * 2,
    )
    talk = replace(
        talk, system=refusal, system_longer=refusal, history=refusal, history_longer=refusal
    )
    facts = interview(streamed(), conversation=talk, steps=steps(None, None))
    assert checks.system_role.judge(facts).outcome is Outcome.WARN
    assert checks.multi_turn.judge(facts).outcome is Outcome.FAIL
