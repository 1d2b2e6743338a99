"""The reader takes common events a fast way; it must make no difference."""

from __future__ import annotations

import json

from hypothesis import given, settings, strategies

from healthcheck.wire.chat import Reader

texts = strategies.one_of(
    strategies.none(), strategies.text(max_size=5), strategies.just("\ud800"), strategies.integers(0, 3)
)
deltas = strategies.dictionaries(
    strategies.sampled_from(["content", "reasoning", "reasoning_content", "role"]), texts
)
choices = strategies.fixed_dictionaries(
    {},
    optional={
        "index": strategies.one_of(strategies.integers(-2, 5), strategies.none()),
        "delta": strategies.one_of(deltas, strategies.none()),
        "finish_reason": strategies.sampled_from([None, "", "stop", "length", 7]),
        "logprobs": strategies.none(),
    },
)
events = strategies.fixed_dictionaries(
    {},
    optional={
        "id": strategies.sampled_from(["a", "b", "", None, 3]),
        "object": strategies.sampled_from(["chat.completion.chunk", "error", "text"]),
        "model": strategies.sampled_from(["m", "", None]),
        "choices": strategies.one_of(strategies.lists(choices, max_size=3), strategies.none()),
        "usage": strategies.sampled_from([None, {"prompt_tokens": 1, "completion_tokens": 2}, 5]),
        "error": strategies.sampled_from([None, "", {"message": "x"}]),
    },
)


@given(sent=strategies.lists(events, max_size=6), cut=strategies.integers(0, 400))
@settings(deadline=None)
def test_the_fast_way_and_the_slow_way_read_alike(sent: list[dict[str, object]], cut: int) -> None:
    fast, slow = Reader(), Reader()
    bodies = [json.dumps(event).encode() for event in sent] + [b"[DONE]"]
    stream = b"".join(b"data: " + body + b"\n\n" for body in bodies)
    fast.feed(stream[:cut])
    fast.feed(stream[cut:])
    slow.feed(b"".join(b"data:\t" + body + b"\n\n" for body in bodies))
    assert fast.close() == slow.close()


def test_text_is_joined_in_order() -> None:
    reader = Reader()
    for word in ("The", " answer", " is", " 18", "."):
        event = {"id": "x", "choices": [{"index": 0, "delta": {"content": word}, "finish_reason": None}]}
        reader.feed(f"data: {json.dumps(event)}\n\n".encode())
    reader.feed(b'data: {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}\n\ndata: [DONE]\n\n')
    completion = reader.close()
    assert completion.text == "The answer is 18."
    assert (completion.finish_reason, completion.done, completion.deltas) == ("stop", True, 5)
    assert completion.faults == ()
