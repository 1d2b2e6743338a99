"""Each of the faults that no count shows does what its name says, and the server without it does not."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest

from healthcheck.errors import UsageError
from healthcheck.extensions.simulator import Behaviour, Simulator
from healthcheck.wire.chat import Completion, Message, request_body, user
from healthcheck.wire.client import Client, Limits

pytestmark = pytest.mark.process

Ask = Callable[..., Completion]
RECALL = "What is the code word?"
TOLD = "The code word is kelp77. Remember it."
OTHERS = [f"The code word is mirt{n}. {RECALL}" for n in range(16)]


def faulty(*names: str, **fields: object) -> Simulator:
    return Simulator(Behaviour(model="m", faults=names, **fields))  # type: ignore[arg-type]


def assistant(text: str) -> Message:
    return {"content": text, "role": "assistant"}


def together(simulator: Simulator, ask: Ask) -> list[Completion]:
    with ThreadPoolExecutor(16) as pool:
        return list(pool.map(lambda text: ask(simulator, text), OTHERS))


def alone(simulator: Simulator, ask: Ask) -> list[Completion]:
    return [ask(simulator, text) for text in OTHERS]


def words(completions: Sequence[Completion]) -> list[list[str]]:
    """A first token that slips in elsewhere has no space before it."""
    return [completion.text.replace("The", " The").split() for completion in completions]


@pytest.mark.parametrize("name", ["mixes-tokens", "swaps-tokens"])
def test_overlapping_streams_alone_are_spoilt_and_not_in_their_counts(name: str, ask: Ask) -> None:
    with faulty(name) as simulator:
        sound, spoilt = alone(simulator, ask), together(simulator, ask)
    with faulty() as simulator:
        assert words(together(simulator, ask)) == words(sound)
    changed = [(a, b) for a, b in zip(words(sound), words(spoilt), strict=True) if a != b]
    assert len(changed) > 8
    assert (
        all(len(after) - len(before) in range(3) for before, after in changed)
        or name == "swaps-tokens"
    )
    assert (
        all(sorted("".join(after)) == sorted("".join(before)) for before, after in changed)
        or name != "swaps-tokens"
    )
    counts = [[completion.usage for completion in each] for each in (sound, spoilt)]
    assert counts[0] == counts[1]


def test_a_mixed_in_token_is_one_of_another_stream(ask: Ask) -> None:
    with faulty("mixes-tokens") as simulator:
        texts = words(together(simulator, ask))
        own = words(alone(simulator, ask))
    said = {word for text in own for word in text}
    assert all(set(text) <= said for text in texts)
    assert any(set(text) - set(before) for text, before in zip(texts, own, strict=True))


def test_a_limit_that_counts_the_prompt_shows_in_no_count(ask: Ask) -> None:
    prompt = "word " * 30
    with faulty() as simulator:
        sound = ask(simulator, prompt, max_tokens=40, ignore_eos=True)
    with faulty("limit-counts-prompt") as simulator:
        short = ask(simulator, prompt, max_tokens=40, ignore_eos=True)
        shortest = ask(simulator, prompt * 4, max_tokens=40)
    assert short.usage == sound.usage
    assert short.finish_reason == "stop"
    assert len(short.text.split()) < 10 < len(sound.text.split())
    assert len(shortest.text.split()) == 1


def test_only_the_first_turn_is_heard_and_all_are_counted(ask: Ask) -> None:
    turns = [user("Hello."), assistant("Hello."), user(TOLD + RECALL)]
    with faulty("first-turn-only") as simulator:
        deaf, told = (
            ask(simulator, turns),
            ask(simulator, [user(TOLD + RECALL), assistant("ok"), user("Hello.")]),
        )
    with faulty() as simulator:
        sound = ask(simulator, turns)
    assert "kelp77" in sound.text
    assert "kelp77" not in deaf.text
    assert "kelp77" in told.text
    assert deaf.usage
    assert sound.usage
    assert deaf.usage.prompt_tokens == sound.usage.prompt_tokens


def test_a_shared_history_is_known_to_the_next_client_and_not_counted(ask: Ask) -> None:
    with faulty("shared-history") as simulator:
        before = ask(simulator, RECALL)
        ask(simulator, TOLD)
        after = ask(simulator, RECALL)
    assert "kelp77" not in before.text
    assert "kelp77" in after.text
    assert before.usage
    assert after.usage
    assert before.usage.prompt_tokens == after.usage.prompt_tokens


def test_one_request_in_the_middle_hangs(ask: Ask) -> None:
    limits = Limits(first_event_s=1, between_events_s=1, total_s=1)
    body = request_body([user("hi")], model="m", max_tokens=4, temperature=0)
    with faulty("hangs-at-3") as simulator:
        answered = [
            Client(simulator.url, limits).chat(body).completion is not None for _ in range(6)
        ]
    assert answered == [True, True, False, True, True, True]
    with pytest.raises(UsageError):
        faulty("hangs-at-some")


@pytest.mark.parametrize(
    ("name", "kind"), [("json-type", "application/json"), ("plain-type", "text/plain")]
)
def test_a_stream_of_another_type_is_whole(name: str, kind: str) -> None:
    body = request_body([user("hi")], model="m", max_tokens=9, temperature=0)
    with faulty() as simulator:
        sound = Client(simulator.url).chat(body)
    with faulty(name) as simulator:
        other = Client(simulator.url).chat(body)
    assert other.headers["content-type"].startswith(kind)
    assert sound.headers["content-type"].startswith("text/event-stream")
    assert other.completion
    assert sound.completion
    assert other.completion.text == sound.completion.text


def test_characters_are_dropped_from_streams_alone(ask: Ask) -> None:
    text = "你好数学🙂🚀"
    body = request_body([user(text)], model="m", max_tokens=64, temperature=0) | {"stream": False}
    with faulty("drops-characters") as simulator:
        streamed = ask(simulator, text).text
        plain = json.loads(Client(simulator.url).chat(body).body)["choices"][0]["message"][
            "content"
        ]
    assert set(text) <= set(plain)
    missing = set(plain) - set(streamed)
    assert {"🙂", "🚀"} <= missing < set(text)


@pytest.mark.parametrize(
    "data", [b'{"model": ', b"{}", b'{"messages": []}', b'{"messages": [{"role": 7}]}']
)
def test_malformed_bodies_get_an_answer_and_from_a_sound_server_a_refusal(data: bytes) -> None:
    with faulty("answers-broken-json") as simulator:
        answer = Client(simulator.url).chat_bytes(data)
    with faulty() as simulator:
        assert Client(simulator.url).chat_bytes(data).status == 400
    assert answer.status == 200
    assert json.loads(answer.body)["choices"][0]["message"]["content"]


@pytest.mark.parametrize("dialect", ["vllm", "reasoning"])
def test_garbage_is_all_that_is_said(dialect: str, ask: Ask) -> None:
    with faulty("garbage", dialect=dialect) as simulator:
        told = ask(simulator, TOLD + RECALL, max_tokens=12, temperature=1)
    assert told.text + told.reasoning == "!" * 12
    assert told.finish_reason == "length"


@pytest.mark.parametrize("temperature", [0, 1, 2])
def test_a_loop_begins_after_a_sound_start_and_lasts_until_the_limit(
    temperature: float, ask: Ask
) -> None:
    with faulty("falls-into-a-loop", answer_tokens=200) as simulator:
        looping = ask(
            simulator, "Tell a story.", max_tokens=300, temperature=temperature
        ).text.split()
    tail = looping[-100:]
    assert len(looping) == 300
    assert len(set(tail)) == len(set(tail[:10])) < 10
    assert len(set(looping[:19])) > 10


def test_markers_stay_in_place_of_spaces(ask: Ask) -> None:
    with faulty("token-markers") as simulator:
        told = ask(simulator, "Tell a story.", max_tokens=40).text
    assert told.count("▁") > 10
    assert " " not in told


LONG = "".join(f"w{n} " for n in range(6000))


@pytest.mark.parametrize(
    ("name", "begins", "ends", "heard"),
    [
        ("halves-prompt", False, True, 3000), ("cuts-at-4096", False, True, 4096), ("drops-middle", True, True, 4000),
    ],
)  # fmt: skip
def test_what_is_left_of_a_long_prompt_is_what_is_counted(
    name: str, begins: bool, ends: bool, heard: int, ask: Ask
) -> None:
    first = f"The code word is kelp77. {LONG}{RECALL}"
    last = f"{LONG}The code word is kelp77. {RECALL}"
    with faulty(name, context_tokens=8192) as simulator:
        at_first, at_last = ask(simulator, first), ask(simulator, last)
        short = ask(simulator, TOLD + RECALL)
    assert ("kelp77" in at_first.text, "kelp77" in at_last.text) == (begins, ends)
    assert at_first.usage
    assert abs(at_first.usage.prompt_tokens - heard) < 20
    assert "kelp77" in short.text


def test_a_lost_middle_is_the_middle(ask: Ask) -> None:
    with faulty("drops-middle") as simulator:
        answer = ask(simulator, f"{LONG[:9000]}The code word is kelp77. {LONG[:9000]}{RECALL}")
    assert "kelp77" not in answer.text
