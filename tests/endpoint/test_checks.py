"""Checks are functions of the record alone: judged here on exchanges that were written by hand."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from healthcheck.core.records import Outcome
from healthcheck.stages.endpoint import checks
from healthcheck.stages.endpoint.prompts import code_word, line
from healthcheck.stages.endpoint.records import Crowd, Pairs, Sampling
from healthcheck.wire.chat import Usage
from healthcheck.wire.client import Exchange
from tests.endpoint.by_hand import PROSE, WORDS, interview, streamed


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
    assert checks.model_name.judge(facts).outcome is outcome


def test_a_stream_without_finish_reason_fails_and_one_without_done_warns() -> None:
    assert checks.stream_finish.judge(interview(streamed(finish_reason=""))).outcome is Outcome.FAIL
    assert checks.stream_finish.judge(interview(streamed(done=False))).outcome is Outcome.WARN


def test_a_thinking_model_that_was_cut_off_while_thinking_is_no_fault() -> None:
    thinking = streamed("", reasoning="let me see", finish_reason="length", deltas=3)
    assert checks.stream.judge(interview(thinking)).outcome is Outcome.PASS
    assert (
        checks.stream.judge(interview(streamed("", reasoning="all of it", deltas=3))).outcome
        is Outcome.FAIL
    )


@pytest.mark.parametrize(
    ("usage", "outcome"),
    [
        (
            {"usage": Usage(prompt_tokens=9, completion_tokens=10), "usage_sent": {"a": 1}},
            Outcome.PASS,
        ),
        ({"usage": None}, Outcome.PASS),
        ({"usage": None, "usage_sent": {"prompt_tokens": "9"}}, Outcome.FAIL),
        (
            {"usage": Usage(prompt_tokens=9, completion_tokens=0), "usage_sent": {"a": 1}},
            Outcome.FAIL,
        ),
        (
            {
                "usage": Usage(prompt_tokens=9, completion_tokens=0),
                "usage_sent": {"a": 1},
                "text": "",
                "deltas": 0,
            },
            Outcome.PASS,
        ),
    ],
)
def test_token_counts(usage: dict[str, object], outcome: Outcome) -> None:
    assert checks.stream_usage.judge(interview(streamed(**usage))).outcome is outcome  # type: ignore[arg-type]


def crowd(first: list[str], second: list[str]) -> Crowd:
    rounds = (tuple(map(streamed, first)), tuple(map(streamed, second)))
    return Crowd(lines=tuple(f"word{n} and on" for n in range(len(first))), rounds=rounds)


def test_anothers_code_word_is_cross_talk_and_another_text_is_not() -> None:
    long = [f"answer number {n} goes on and on for a while" for n in range(4)]
    other = [*long[:3], "something else that no other stream said at all"]
    swapped = [long[1], *long[1:]]
    for rounds, outcome in (
        ((long, long), Outcome.PASS),
        ((long, other), Outcome.PASS),
        ((swapped, long), Outcome.FAIL),
        ((["word0", "word0"], ["word0", "word1"]), Outcome.FAIL),
        ((["word0 and on", "nothing"], ["word0 and on", "word1 and on"]), Outcome.WARN),
    ):
        assert (
            checks.concurrency.judge(interview(streamed(), crowd=crowd(*rounds))).outcome is outcome
        )


@pytest.mark.parametrize(
    "text",
    [
        "done<|im_end|>",
        "</s>",
        "a <|eot_id|> b",
        "<｜end▁of▁sentence｜>",
        "x<end_of_turn>",
        "[/INST] so",
    ],
)
def test_special_tokens_are_found(text: str) -> None:
    assert checks.stop_or_eos.judge(interview(streamed(text))).outcome is Outcome.FAIL


@pytest.mark.parametrize(
    "text",
    [
        "<think>well</think> 3 < 4 |> 2",
        "<|",
        "if a <| b |> c",
        "<s",
        "<b>bold</b>",
        "[1]",
        "<|begin_of_box|>7<|end_of_box|>",
    ],
)
def test_ordinary_text_is_no_special_token(text: str) -> None:
    assert checks.stop_or_eos.judge(interview(streamed(text))).outcome is Outcome.PASS


def test_a_stop_string_at_the_end_of_the_text_was_obeyed() -> None:
    for text, outcome in (
        ("one two", Outcome.PASS),
        ("one two three", Outcome.PASS),
        (WORDS, Outcome.WARN),
    ):
        facts = interview(streamed(), stopped=streamed(text), stop_word="three")
        assert checks.stop_or_eos.judge(facts).outcome is outcome


LINE = "kelp1013 amber anchor basket beacon"
SWAPPED = "kelp1013 anchor amber basket beacon"
PUT_IN = "kelp1013 amber zor anchor basket beacon"
OTHER_WAY = "kelp1013 amber anchor is a line with four words"


@pytest.mark.parametrize(
    ("beside", "alone", "outcome"),
    [
        ([SWAPPED] * 3, LINE, Outcome.FAIL),
        ([PUT_IN] * 3, LINE, Outcome.FAIL),
        ([PUT_IN] * 2, LINE, Outcome.WARN),
        ([SWAPPED] * 3, SWAPPED, Outcome.WARN),
        ([OTHER_WAY] * 8, LINE, Outcome.WARN),
    ],
)
def test_tokens_out_of_place_are_told_from_a_model_that_goes_another_way(
    beside: list[str], alone: str, outcome: Outcome
) -> None:
    first = tuple(streamed(text) for text in (beside + [LINE] * 8)[:8])
    seen = Crowd(
        lines=(LINE,) * 8,
        rounds=(first, (streamed(LINE),) * 8),
        alone=tuple((index, streamed(alone)) for index in range(4)),
    )
    assert checks.concurrency.judge(interview(streamed(), crowd=seen)).outcome is outcome


def thinking(text: str) -> Exchange:
    return streamed("", reasoning=text, finish_reason="length", deltas=16)


LINES = tuple(map(line, range(16)))
PLAN = "Okay, the user wants me to repeat this line exactly and write nothing else."


def quoting(index: int, words: str = "the line") -> str:
    return f'Okay, the user wants me to repeat {words} "{code_word(index)}'


def test_thoughts_that_are_alike_are_no_other_streams_answer() -> None:
    """Some thoughts quote their line and some do not; at a tie the batch decides which."""
    first = [PLAN if index in {3, 5, 9} else quoting(index) for index in range(16)]
    second = [PLAN if index in {5, 9} else quoting(index) for index in range(12)]
    seen = Crowd(lines=LINES, rounds=(tuple(map(thinking, first)), tuple(map(thinking, second))))
    assert checks.concurrency.judge(interview(streamed(), crowd=seen)).outcome is Outcome.PASS


@pytest.mark.parametrize(
    ("beside", "outcome"),
    [
        (["this line:"] * 8, Outcome.PASS),
        (["line the", "theor line", "the lline"], Outcome.FAIL),
    ],
)
def test_one_change_in_many_thoughts_is_a_tie_and_many_changes_are_none(
    beside: list[str], outcome: Outcome
) -> None:
    first = [
        quoting(index, beside[index] if index < len(beside) else "the line") for index in range(16)
    ]
    seen = Crowd(
        lines=LINES,
        rounds=(
            tuple(map(thinking, first)),
            tuple(thinking(quoting(index)) for index in range(12)),
        ),
        alone=tuple((index, thinking(quoting(index))) for index in range(6)),
    )
    assert checks.concurrency.judge(interview(streamed(), crowd=seen)).outcome is outcome


LOOP = PROSE + "found the map. " * 40


@pytest.mark.parametrize(
    ("short", "long", "outcome"),
    [
        (PROSE, (PROSE * 2, PROSE), Outcome.PASS),
        ("!" * 40, ("!" * 400,) * 2, Outcome.FAIL),
        (PROSE, (LOOP, LOOP), Outcome.FAIL),
        (PROSE, (LOOP, PROSE), Outcome.PASS),
        ("Yes.", ("No.", "No."), Outcome.SKIP),
        (
            "river stone lamp quiet seven",
            ("river stone lamp quiet seven walks under bright salt",) * 2,
            Outcome.PASS,
        ),
    ],
)
def test_garbage_is_told_from_weakness(short: str, long: tuple[str, str], outcome: Outcome) -> None:
    samples = Sampling(warm=(streamed(short),) * 4)
    facts = interview(streamed(), sampling=samples, stories=tuple(map(streamed, long)))
    assert checks.degenerate.judge(facts).outcome is outcome


def plain(message: dict[str, str]) -> Exchange:
    body = json.dumps({"choices": [{"message": message, "finish_reason": "length"}]}).encode()
    return Exchange(status=200, body=body, sent={"stream": False, "max_tokens": 16})


@pytest.mark.parametrize(
    ("message", "outcome"),
    [
        ({"content": WORDS}, Outcome.PASS),
        ({"content": "", "reasoning_content": WORDS}, Outcome.PASS),
        ({"content": f"<think>\n{WORDS}"}, Outcome.PASS),
        ({"content": f"{WORDS}\ufffd"}, Outcome.PASS),
        ({"content": WORDS[4:]}, Outcome.FAIL),
    ],
)
def test_a_stream_is_its_plain_answer_wherever_a_parser_puts_the_thoughts(
    message: dict[str, str], outcome: Outcome
) -> None:
    """vLLM's qwen3 parser takes thoughts that max_tokens cut for text in a plain answer, for thoughts in a stream."""
    stream = streamed("", reasoning=WORDS, finish_reason="length")
    facts = interview(stream, streams=(stream,), plains=(plain(message),))
    assert checks.stream_equals_plain.judge(facts).outcome is outcome


def test_a_request_that_gets_no_answer_fails_though_all_others_do() -> None:
    silent = Exchange(error="no event within 30 s", sent={"stream": True, "max_tokens": 8})
    facts = interview(streamed(), streams=(streamed(),), limited=silent, long=streamed())
    assert checks.stream_finish.judge(facts).outcome is Outcome.FAIL


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_servers_error_for_some_requests_fails_though_all_others_are_served(status: int) -> None:
    broken = Exchange(
        status=status, body=b"internal error", sent={"stream": True, "max_tokens": 264}
    )
    for some in (
        {"stories": (streamed(), broken)},
        {"sampling": Sampling(warm=(broken,) * 4)},
        {"roomy": broken},
    ):
        assert checks.stream_finish.judge(interview(streamed(), **some)).outcome is Outcome.FAIL
    refused = replace(broken, status=400)
    assert checks.stream_finish.judge(interview(streamed(), roomy=refused)).outcome is Outcome.PASS


@pytest.mark.parametrize(
    ("text", "whole", "outcome"),
    [
        ("a\ufffd\ufffd\ufffdb", "a好b", Outcome.FAIL),
        ("a\ufffd\ufffd\ufffdb", "a好c", Outcome.PASS),
        ("\ufffd" * 6 + "b", "好好b", Outcome.FAIL),
        (("\ufffd" * 6 + "aa") * 40, "a" * 200 + "b", Outcome.PASS),
    ],
)
def test_replaced_characters_are_those_of_the_plain_answer(
    text: str, whole: str, outcome: Outcome
) -> None:
    foreign = Pairs(streams=(streamed(text),), plains=(plain({"content": whole}),))
    assert checks.unicode.judge(interview(streamed(), foreign=foreign)).outcome is outcome


CHINESE = "他的哥哥记得灯塔。\n地图在桌子上。"


@pytest.mark.parametrize(
    ("text", "whole", "outcome"),
    [
        ("", CHINESE, Outcome.FAIL),
        ("\n", CHINESE, Outcome.FAIL),
        ("Sure:", f"Sure: {CHINESE}", Outcome.FAIL),
        ("1. \n2.", "1. 你好\n2. 世界", Outcome.FAIL),
        (" lamp and map", "灯塔 lamp and map", Outcome.FAIL),
        ("他的哥哥", CHINESE, Outcome.PASS),
        ("", f"Sure: {CHINESE}", Outcome.PASS),
        ("He says: ", "He says: 你\ufffd", Outcome.PASS),
        ("", "", Outcome.SKIP),
        ("Nothing foreign.", "Nothing foreign at all.", Outcome.SKIP),
    ],
)
def test_characters_are_lost_though_nothing_else_is_left(
    text: str, whole: str, outcome: Outcome
) -> None:
    foreign = Pairs(streams=(streamed(text),) * 2, plains=(plain({"content": whole}),) * 2)
    assert checks.unicode.judge(interview(streamed(), foreign=foreign)).outcome is outcome


@pytest.mark.parametrize(
    ("second", "whole_again"),
    [
        (streamed(CHINESE), CHINESE),
        (streamed(""), "灯塔在海边。"),
        (Exchange(error="no event within 30 s", sent={"stream": True, "max_tokens": 32}), CHINESE),
    ],
    ids=[
        "the second stream has them",
        "the second plain answer is another",
        "the second stream never came",
    ],
)
def test_characters_are_lost_only_if_they_are_lost_each_time(
    second: Exchange, whole_again: str
) -> None:
    plains = (plain({"content": CHINESE}), plain({"content": whole_again}))
    foreign = Pairs(streams=(streamed(""), second), plains=plains)
    assert checks.unicode.judge(interview(streamed(), foreign=foreign)).outcome is Outcome.PASS


def test_blanks_are_no_text() -> None:
    assert checks.stream.judge(interview(streamed(" \n ", deltas=3))).outcome is Outcome.FAIL


@pytest.mark.parametrize("kind", ["application/json", "text/plain", ""])
def test_another_content_type_is_a_warning(kind: str) -> None:
    other = replace(streamed(), headers={"content-type": kind})
    assert checks.stream_framing.judge(interview(other)).outcome is Outcome.WARN
    right = replace(streamed(), headers={"content-type": "text/event-stream; charset=utf-8"})
    assert checks.stream_framing.judge(interview(right)).outcome is Outcome.PASS


@pytest.mark.parametrize("made", [-1, 1, 5000])
def test_impossible_counts_are_told_once(made: int) -> None:
    wrong = Usage(prompt_tokens=9, completion_tokens=made)
    first = streamed(" ".join([WORDS] * 2), usage=wrong)
    facts = interview(
        first, streams=(first, first), limited=streamed("one two", usage=wrong), long=first
    )
    assert checks.stream_usage.judge(facts).outcome is Outcome.FAIL
    assert checks.max_tokens.judge(facts).outcome is Outcome.PASS


def test_an_answer_without_end_is_a_matter_of_max_tokens() -> None:
    endless = replace(
        streamed(" ".join([WORDS] * 1000), finish_reason="", done=False, usage=None),
        error="more than 10000 events in one answer",
        sent={"stream": True, "max_tokens": 520},
    )
    facts = interview(streamed(), streams=(streamed(),), limited=streamed(), long=endless)
    assert checks.stream_finish.judge(facts).outcome is Outcome.PASS
    assert checks.max_tokens.judge(facts).outcome is Outcome.FAIL
    assert checks.max_tokens.judge(interview(endless)).outcome is Outcome.FAIL, (
        "the first answer of all"
    )
    cut = replace(
        facts, long=replace(endless, completion=streamed("one two", finish_reason="").completion)
    )
    assert checks.stream_finish.judge(cut).outcome is Outcome.FAIL


def test_a_server_that_answers_none_of_the_clients_that_leave_is_told_from_one_that_fails_after_them() -> (
    None
):
    left = Exchange(status=200, abandoned=True, sent={"stream": True})
    silent = Exchange(error="no answer within 9 s", sent={"stream": True})
    during = checks.disconnect.judge(interview(streamed(), abandoned=(left, silent)))
    after = checks.disconnect.judge(
        interview(streamed(), abandoned=(left, left), after_abandoned=silent)
    )
    assert (during.outcome, after.outcome) == (Outcome.FAIL, Outcome.FAIL)
    assert during.findings[0].expected == "a response while other clients disconnect"
    assert after.findings[0].expected == "after 2 disconnects: an answer as before"


@pytest.mark.parametrize("text", ["word1 and on", "word1 and off"], ids=["same", "another"])
@pytest.mark.parametrize("status", [200, 500])
def test_a_malformed_request_that_is_not_refused_warns_whatever_the_next_answer_says(
    text: str, status: int
) -> None:
    malformed = (Exchange(status=status, body=b"{}"),)
    copied = crowd(["word0 and on", "word1 and on"], ["word0 and on", "word1 and on"])
    facts = interview(streamed(), crowd=copied, malformed=malformed, after_malformed=streamed(text))
    assert checks.bad_request.judge(facts).outcome is Outcome.WARN
