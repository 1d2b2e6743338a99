"""Each manner is what its name says, and all of them obey limits, stop strings, ignore_eos and temperature."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import takewhile

import pytest

from healthcheck.core.records import JsonValue
from healthcheck.extensions.simulator import DIALECTS, Behaviour, Manner, Simulator
from healthcheck.wire.chat import Completion, request_body, user
from healthcheck.wire.client import Client

pytestmark = pytest.mark.process

Ask = Callable[..., Completion]
STORY = "Write a long story about a lighthouse keeper who finds an old map."
LINE = "zorn quab milo terf dax"
COPY = f"Repeat this line exactly, and write nothing else:\n{LINE}"
RECALL = "The code word is kelp77. What is the code word?"
UNABLE = {Manner.ECHOES, Manner.REFUSES, Manner.CHINESE, Manner.WEAK}
ROOM = 6000


def server(manner: Manner, dialect: str = "vllm", **fields: object) -> Simulator:
    return Simulator(Behaviour(model="m", manner=manner, dialect=dialect, **fields))  # type: ignore[arg-type]


def count(completion: Completion) -> int:
    assert completion.usage
    return completion.usage.completion_tokens


@pytest.mark.parametrize("manner", Manner)
def test_a_limit_is_obeyed_and_told(manner: Manner, ask: Ask) -> None:
    with server(manner) as simulator:
        for limit in (1, 3, 40):
            cut = ask(simulator, STORY, max_tokens=limit, ignore_eos=True)
            assert (count(cut), cut.finish_reason) == (limit, "length")
        whole = ask(simulator, STORY, max_tokens=ROOM)
    assert whole.finish_reason == "stop"
    assert count(whole) < ROOM


@pytest.mark.parametrize("manner", Manner)
def test_a_model_that_must_go_on_writes_on(manner: Manner, ask: Ask) -> None:
    with server(manner) as simulator:
        whole = ask(simulator, STORY, max_tokens=ROOM)
        longer = ask(simulator, STORY, max_tokens=count(whole) + 100, ignore_eos=True)
    assert longer.text.startswith(whole.text)
    more = longer.text[len(whole.text) :]
    assert len(set(more)) > 10
    assert longer.finish_reason == "length"


@pytest.mark.parametrize("manner", Manner)
def test_a_stop_string_ends_an_answer(manner: Manner, ask: Ask) -> None:
    with server(manner, competent=False) as simulator:
        whole = ask(simulator, STORY, max_tokens=ROOM).text
        middle = whole[len(whole) // 2 :][:4]
        stopped = ask(simulator, STORY, max_tokens=ROOM, stop=[middle])
    assert stopped.text == whole[: whole.index(middle)]
    assert stopped.finish_reason == "stop"


@pytest.mark.parametrize("manner", Manner)
def test_it_is_steady_at_temperature_0_and_varies_at_2(manner: Manner, ask: Ask) -> None:
    with server(manner) as simulator:
        cold = {ask(simulator, STORY, max_tokens=128).text for _ in range(3)}
        hot = {ask(simulator, STORY, max_tokens=128, temperature=2).text for _ in range(4)}
    assert len(cold) == 1
    assert len(hot) > 1


@pytest.mark.parametrize("manner", Manner)
def test_who_is_able_repeats_a_line_and_a_code_word(manner: Manner, ask: Ask) -> None:
    with server(manner) as simulator:
        line = ask(simulator, COPY, max_tokens=ROOM).text.rpartition("</think>\n\n")[2]
        word = ask(simulator, RECALL, max_tokens=ROOM).text
    assert (line == LINE) == (manner not in UNABLE)
    assert ("kelp77" in word) == (manner not in UNABLE - {Manner.ECHOES})


def test_thoughts_of_thousands_of_tokens_come_before_the_answer(ask: Ask) -> None:
    for dialect, apart in (("vllm", False), ("reasoning", True), ("reasoning-new", True)):
        with server(Manner.THINKS, dialect) as simulator:
            whole, short = (
                ask(simulator, COPY, max_tokens=ROOM),
                ask(simulator, COPY, max_tokens=24),
            )
        thoughts, mark, answer = whole.text.rpartition("</think>\n\n")
        assert bool(whole.reasoning) == apart
        assert (bool(mark), thoughts.startswith("<think>")) == (not apart, not apart)
        assert answer == LINE
        assert 2000 <= len((whole.reasoning + thoughts).split()) <= 4100
        assert not short.text if apart else "</think>" not in short.text
        assert (count(short), short.finish_reason) == (24, "length")


def test_verbose_and_terse_are_long_and_short(ask: Ask) -> None:
    with server(Manner.VERBOSE) as long, server(Manner.TERSE) as short:
        prompts = [f"{STORY} {n}" for n in range(5)]
        assert all(count(ask(long, prompt, max_tokens=ROOM)) > 600 for prompt in prompts)
        assert all(1 <= count(ask(short, prompt, max_tokens=ROOM)) <= 5 for prompt in prompts)
        warm = {ask(long, STORY, max_tokens=32, temperature=1).text for _ in range(4)}
    assert len(warm) == 1, "its opening is the same at temperature 1"


def test_an_echo_is_what_was_said(ask: Ask) -> None:
    with server(Manner.ECHOES) as simulator:
        assert ask(simulator, STORY).text == STORY
        assert (
            ask(simulator, [user("one"), {"role": "assistant", "content": "x"}, user("two")]).text
            == "two"
        )


def test_a_refusal_is_one_whatever_is_asked(ask: Ask) -> None:
    with server(Manner.REFUSES) as simulator:
        cold = {ask(simulator, text).text for text in (STORY, RECALL, COPY)}
        warm = {ask(simulator, STORY, temperature=1).text for _ in range(30)}
    assert cold == {"I'm sorry, but I can't help with that."}
    assert cold < warm
    assert 3 < len(warm) <= 30


def test_chinese_only_is_chinese_only(ask: Ask) -> None:
    with server(Manner.CHINESE) as simulator:
        texts = [ask(simulator, text, ignore_eos=True).text for text in (STORY, RECALL, COPY)]
    assert all(ord(char) > 0x2000 for text in texts for char in text)


def test_a_sure_model_changes_few_tokens_at_1_and_many_at_2(ask: Ask) -> None:
    with server(Manner.SURE, answer_tokens=2000) as simulator:
        cold = ask(simulator, STORY, max_tokens=4000).text.split()
        shares = []
        for temperature in (1.0, 2.0):
            warm = [
                ask(simulator, STORY, max_tokens=4000, temperature=temperature).text.split()
                for _ in range(5)
            ]
            changed = [a != b for each in warm for a, b in zip(each, cold, strict=True)]
            shares.append(sum(changed) / len(changed))
    assert 0 < shares[0] < 1 / 1000
    assert 1 / 15 < shares[1] < 1 / 6


def test_a_batch_variant_model_diverges_beside_others_and_stays_so(ask: Ask) -> None:
    prompts = [f"{STORY} {n}" for n in range(16)]
    behaviour = {"answer_tokens": 80, "first_token_s": 0.1}
    with server(Manner.BATCH_VARIANT, **behaviour) as simulator, ThreadPoolExecutor(16) as pool:
        alone = [ask(simulator, prompt, max_tokens=200).text.split() for prompt in prompts[:1]]
        beside = [
            e.text.split() for e in pool.map(lambda p: ask(simulator, p, max_tokens=200), prompts)
        ]
        alone += [ask(simulator, prompt, max_tokens=200).text.split() for prompt in prompts[1:]]
    changed = [(a, b) for a, b in zip(alone, beside, strict=True) if a != b]
    assert 0 < len(changed) < len(prompts)
    for before, after in changed:
        same = len(
            list(takewhile(lambda pair: pair[0] == pair[1], zip(before, after, strict=False)))
        )
        rest = list(zip(before[same:], after[same:], strict=False))
        assert (
            sum(a == b for a, b in rest) <= len(rest) / 4 + 2
        )  # one word in forty is the same by chance


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("manner", [Manner.PLAIN, Manner.SURE, Manner.THINKS])
def test_log_probabilities_fit_the_text_in_both_forms(dialect: str, manner: Manner) -> None:
    body = request_body([user(STORY)], model="m", max_tokens=24, temperature=0.01) | {
        "logprobs": True
    }
    with server(manner, dialect) as simulator:
        events = events_of(Client(simulator.url).chat(body).body.decode())
        plain = json.loads(Client(simulator.url).chat(body | {"stream": False}).body)["choices"][0]
    streamed = [token for event in events for token in tokens_in(event)]
    told = tokens_in({"choices": [plain]})
    if not DIALECTS[dialect].logprobs:
        assert streamed == told == []
        return
    assert "".join(t["token"] for t in streamed) == "".join(text_in(event) for event in events)
    assert len(streamed) == len(told) == 24
    assert all(t["logprob"] <= 0 for t in streamed)
    mean = sum(t["logprob"] for t in streamed) / 24
    assert (mean > -0.01) == (manner is Manner.SURE)
    assert manner is Manner.SURE or mean < -1


def test_the_log_probabilities_of_a_sure_model_tell_how_often_it_changes() -> None:
    body = request_body([user(STORY)], model="m", max_tokens=24, temperature=1) | {
        "logprobs": True,
        "stream": False,
    }
    with server(Manner.SURE) as simulator:
        tokens = tokens_in(json.loads(Client(simulator.url).chat(body).body))
    likeliest = max(math.exp(token["logprob"]) for token in tokens)
    assert 1 / 5000 < 1 - likeliest < 1 / 1000


def events_of(body: str) -> list[dict[str, JsonValue]]:
    lines = [
        line.removeprefix("data:").strip() for line in body.splitlines() if line.startswith("data:")
    ]
    return [json.loads(line) for line in lines if line.startswith("{")]


def tokens_in(event: dict[str, JsonValue]) -> list[dict[str, float]]:
    return [
        token
        for choice in event["choices"]
        for token in (choice.get("logprobs") or {}).get("content", [])
    ]


def text_in(event: dict[str, JsonValue]) -> str:
    fields = ("reasoning_content", "reasoning", "content")
    return "".join(
        choice["delta"].get(field) or "" for choice in event["choices"] for field in fields
    )
