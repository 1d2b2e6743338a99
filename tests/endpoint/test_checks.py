"""Checks are functions of the record alone: judged here on exchanges that were written by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from healthcheck.contract import Task
from healthcheck.endpoint import checks_load, checks_reach, checks_stream, checks_talk, checks_text
from healthcheck.endpoint.pictures import pictures, png
from healthcheck.endpoint.records import Conversation, Crowd, Interview, Opening
from healthcheck.records import Outcome
from healthcheck.wire.chat import Completion, Usage
from healthcheck.wire.client import Exchange

LISTED = Exchange(status=200, body=b'{"object": "list", "data": [{"id": "/weights"}]}')
WORDS = "one two three four five six seven eight nine ten"


def streamed(text: str = WORDS, *, seconds: tuple[float, ...] = (0.1, 0.5, 1.0), **fields: object) -> Exchange:
    count = len(text.split())
    usual = {"text": text, "finish_reason": "stop", "done": True, "deltas": count, "choices": 1}
    completion = Completion(**{**usual, "usage": Usage(prompt_tokens=9, completion_tokens=count), **fields})  # type: ignore[arg-type]
    return Exchange(status=200, completion=completion, arrivals_s=seconds, sent={"stream": True, "max_tokens": 24})


def interview(first: Exchange, **fields: object) -> Interview:
    opening = Opening(name="/weights", left_out=(), exchange=first)
    usual = {
        "base_url": "http://127.0.0.1:8000",
        "task": Task.TEXT_GENERATION,
        "models": LISTED,
        "asked_name": "/weights",
    }
    return Interview(**{**usual, "name": "/weights", "openings": (opening,), **fields})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("listed", "outcome"),
    [
        (b'{"data": [{"id": "/weights"}]}', Outcome.PASS),
        (b'{"data": [{"id": "lora"}, {"id": "/weights"}]}', Outcome.PASS),
        (b'{"data": [{"id": "/weights/"}]}', Outcome.WARN),
        (b'{"data": [{"id": "weights"}]}', Outcome.FAIL),
    ],
)
def test_the_weight_path_is_asked_for_to_the_letter(listed: bytes, outcome: Outcome) -> None:
    facts = interview(streamed(), models=Exchange(status=200, body=listed))
    assert checks_reach.model_name.judge(facts).outcome is outcome


QUICK, STEADY, TORN, BURST = (0.05,), (0.1, 0.5, 1.0), (0.1, 7.0, 7.01), (2.0, 2.01)


@pytest.mark.parametrize(
    ("opening", "others", "outcome"),
    [
        (STEADY, QUICK, Outcome.PASS),
        ((3.0, 3.4, 4.0), QUICK, Outcome.PASS),
        (QUICK, QUICK, Outcome.SKIP),
        ((2.0,), (2.0,), Outcome.FAIL),
        (BURST, BURST, Outcome.FAIL),
        (TORN, BURST, Outcome.FAIL),
        (BURST, QUICK, Outcome.SKIP),
        (BURST, STEADY, Outcome.PASS),
    ],
)
def test_a_burst_is_told_from_a_late_first_token_and_from_a_machine_that_was_too_busy_to_read(
    opening: tuple[float, ...], others: tuple[float, ...], outcome: Outcome
) -> None:
    facts = interview(streamed(seconds=opening), streams=(streamed(seconds=others),) * 2)
    result = checks_stream.stream_incremental.judge(facts)
    assert (result.outcome, result.settled) == (outcome, True)


def test_instant_answers_of_which_a_busy_machine_held_back_some_are_no_bursts() -> None:
    quick, burst = streamed(seconds=QUICK), streamed(seconds=BURST)
    facts = interview(quick, streams=(burst, quick), after_abandoned=burst, after_malformed=quick)
    assert checks_stream.stream_incremental.judge(facts).outcome is Outcome.SKIP


@pytest.mark.parametrize(
    ("long", "again", "outcome", "settled"),
    [
        ((5.0, 5.01), (5.0, 5.01), Outcome.FAIL, True),
        ((9.0, 9.01), (5.0, 5.01), Outcome.FAIL, True),
        ((9.0, 9.01), (0.1, 3.0, 5.0), Outcome.PASS, True),
        ((9.0, 9.01), QUICK, Outcome.SKIP, True),
        ((5.0, 9.0), (5.0, 5.01), Outcome.SKIP, False),
        ((0.1, 9.0), (0.1, 9.0), Outcome.SKIP, False),
        ((0.9, 0.91), (0.9, 0.91), Outcome.SKIP, True),
    ],
)
def test_where_only_the_long_answer_takes_its_time_it_takes_two_bursts(
    long: tuple[float, ...], again: tuple[float, ...], outcome: Outcome, *, settled: bool
) -> None:
    """An instant answer that a busy machine held back twice does not wait longer for being longer."""
    quick = streamed(seconds=(0.2,))
    facts = interview(
        quick,
        streams=(quick, quick),
        limited=streamed(seconds=(3.0,)),
        long=streamed(seconds=long),
        again=streamed(seconds=again),
    )
    result = checks_stream.stream_incremental.judge(facts)
    assert (result.outcome, result.settled) == (outcome, settled)


def test_a_stream_without_finish_reason_fails_and_one_without_done_warns() -> None:
    assert checks_stream.stream_finish.judge(interview(streamed(finish_reason=""))).outcome is Outcome.FAIL
    assert checks_stream.stream_finish.judge(interview(streamed(done=False))).outcome is Outcome.WARN


def test_a_thinking_model_that_was_cut_off_while_thinking_is_no_fault() -> None:
    thinking = streamed("", reasoning="let me see", finish_reason="length", deltas=3)
    assert checks_stream.stream.judge(interview(thinking)).outcome is Outcome.PASS
    assert (
        checks_stream.stream.judge(interview(streamed("", reasoning="all of it", deltas=3))).outcome is Outcome.FAIL
    )


@pytest.mark.parametrize(
    ("usage", "outcome"),
    [
        ({"usage": Usage(prompt_tokens=9, completion_tokens=10), "usage_sent": {"a": 1}}, Outcome.PASS),
        ({"usage": None}, Outcome.PASS),
        ({"usage": None, "usage_sent": {"prompt_tokens": "9"}}, Outcome.FAIL),
        ({"usage": Usage(prompt_tokens=9, completion_tokens=0), "usage_sent": {"a": 1}}, Outcome.FAIL),
        (
            {"usage": Usage(prompt_tokens=9, completion_tokens=0), "usage_sent": {"a": 1}, "text": "", "deltas": 0},
            Outcome.PASS,
        ),
    ],
)
def test_token_counts(usage: dict[str, object], outcome: Outcome) -> None:
    assert checks_stream.stream_usage.judge(interview(streamed(**usage))).outcome is outcome  # type: ignore[arg-type]


def crowd(first: list[str], second: list[str]) -> Crowd:
    rounds = (tuple(map(streamed, first)), tuple(map(streamed, second)))
    return Crowd(words=tuple(f"word{n}" for n in range(len(first))), rounds=rounds)


def test_anothers_code_word_is_cross_talk_and_another_text_is_not() -> None:
    long = [f"answer number {n} goes on and on for a while" for n in range(4)]
    other = [*long[:3], "something else that no other stream said at all"]
    swapped = [long[1], *long[1:]]
    for rounds, outcome in (
        ((long, long), Outcome.PASS),
        ((long, other), Outcome.PASS),
        ((swapped, long), Outcome.FAIL),
        ((["word0", "word0"], ["word0", "word1"]), Outcome.FAIL),
        ((["word0", "nothing"], ["word0", "word1"]), Outcome.WARN),
    ):
        assert checks_load.concurrency.judge(interview(streamed(), crowd=crowd(*rounds))).outcome is outcome


@pytest.mark.parametrize(
    "text", ["done<|im_end|>", "</s>", "a <|eot_id|> b", "<｜end▁of▁sentence｜>", "x<end_of_turn>"]
)
def test_special_tokens_are_found(text: str) -> None:
    assert checks_text.stop_or_eos.judge(interview(streamed(text))).outcome is Outcome.FAIL


@pytest.mark.parametrize(
    "text", ["<think>well</think> 3 < 4 |> 2", "<|", "if a <| b |> c", "<s", "<b>bold</b>", "[1]"]
)
def test_ordinary_text_is_no_special_token(text: str) -> None:
    assert checks_text.stop_or_eos.judge(interview(streamed(text))).outcome is Outcome.PASS


def test_truncation_by_the_servers_own_limit_and_by_the_end_of_the_context() -> None:
    asked = {"stream": True, "max_tokens": 520}
    cut = replace(streamed(WORDS, finish_reason="length"), sent=asked)
    full = replace(cut, completion=replace(cut.completion, usage=Usage(prompt_tokens=54, completion_tokens=10)))  # type: ignore[type-var]
    for long, outcome in ((cut, Outcome.FAIL), (full, Outcome.PASS)):
        facts = interview(streamed(), streams=(streamed(),), limited=streamed("one two"), long=long)
        assert checks_text.max_tokens.judge(facts).outcome is outcome


def test_a_stop_string_at_the_end_of_the_text_was_obeyed() -> None:
    for text, outcome in (("one two", Outcome.PASS), ("one two three", Outcome.PASS), (WORDS, Outcome.WARN)):
        facts = interview(streamed(), stopped=streamed(text), stop_word="three")
        assert checks_text.stop_or_eos.judge(facts).outcome is outcome


def talked(*counts: int) -> Conversation:
    alone, same, history, system, far = (
        streamed("one code", usage=Usage(prompt_tokens=count, completion_tokens=2)) for count in counts
    )
    return Conversation(
        word="kalo77", alone=alone, same=same, history=history, system=system, shots=same, far=far, far_paragraphs=9
    )


@pytest.mark.parametrize(
    ("counts", "usage", "turns"),
    [
        ((20, 100, 105, 105, 800), Outcome.PASS, Outcome.PASS),
        ((20, 100, 21, 21, 800), Outcome.PASS, Outcome.FAIL),
        ((20, 20, 20, 20, 20), Outcome.FAIL, Outcome.SKIP),
    ],
)
def test_counts_that_never_grow_are_wrong_counts_and_no_lost_turns(
    counts: tuple[int, ...], usage: Outcome, turns: Outcome
) -> None:
    facts = interview(streamed(), conversation=talked(*counts))
    assert checks_stream.stream_usage.judge(facts).outcome is usage
    assert checks_talk.multi_turn.judge(facts).outcome is turns
    assert checks_talk.system_role.judge(facts).outcome is turns


@pytest.mark.parametrize("made", [-1, 1, 5000])
def test_impossible_counts_are_told_once(made: int) -> None:
    wrong = Usage(prompt_tokens=9, completion_tokens=made)
    first = streamed(" ".join([WORDS] * 2), usage=wrong)
    facts = interview(first, streams=(first, first), limited=streamed("one two", usage=wrong), long=first)
    assert checks_stream.stream_usage.judge(facts).outcome is Outcome.FAIL
    assert checks_text.max_tokens.judge(facts).outcome is Outcome.PASS


def test_an_answer_without_end_is_a_matter_of_max_tokens() -> None:
    endless = replace(
        streamed(" ".join([WORDS] * 90), finish_reason="", done=False, usage=None),
        error="more than 10000 events in one answer",
        sent={"stream": True, "max_tokens": 520},
    )
    facts = interview(streamed(), streams=(streamed(),), limited=streamed(), long=endless)
    assert checks_stream.stream_finish.judge(facts).outcome is Outcome.PASS
    assert checks_text.max_tokens.judge(facts).outcome is Outcome.FAIL
    assert checks_text.max_tokens.judge(interview(endless)).outcome is Outcome.FAIL, "the first answer of all"
    cut = replace(facts, long=replace(endless, completion=streamed("one two", finish_reason="").completion))
    assert checks_stream.stream_finish.judge(cut).outcome is Outcome.FAIL


def test_pictures_differ() -> None:
    assert len(set(pictures())) == 4


def test_pictures_are_what_an_image_library_reads() -> None:
    image = pytest.importorskip("PIL.Image", reason="Pillow is not installed here")
    import io

    with image.open(io.BytesIO(png(lambda x, y: (x, y, 7), side=8))) as opened:
        assert opened.convert("RGB").getpixel((3, 5)) == (3, 5, 7)
