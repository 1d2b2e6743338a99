"""The `openai` client, where it is installed, reads each dialect's stream as the kit does."""

from __future__ import annotations

import pytest

from healthcheck.extensions.simulator import DIALECTS, Behaviour, Simulator
from healthcheck.wire.chat import request_body, user
from healthcheck.wire.client import Client

pytestmark = pytest.mark.peer
# The client's parser does not know lone carriage returns as the end of a line; and only at temperature 0, which one
# dialect refuses, are two answers the same.
UNREAD = {"cr", "strictly-positive"}


@pytest.mark.parametrize("dialect", sorted(DIALECTS.keys() - UNREAD))
def test_both_read_the_same(dialect: str) -> None:
    openai = pytest.importorskip("openai", reason="the openai client is not installed here")
    body = request_body([user("你好 🙂 tell me more")], model="m", max_tokens=40, temperature=0)
    with Simulator(Behaviour(model="m", dialect=dialect)) as simulator:
        ours = Client(simulator.url).chat(body).completion
        client = openai.OpenAI(base_url=simulator.url + "/v1", api_key="none", max_retries=0)
        extra = {name: body[name] for name in ("ignore_eos", "num_return_sequences")}
        known = {name: value for name, value in body.items() if name not in extra}
        with client, client.chat.completions.create(**known, extra_body=extra) as stream:
            chunks = list(stream)
    assert ours
    choices = [choice for chunk in chunks for choice in chunk.choices]
    assert "".join(choice.delta.content or "" for choice in choices) == ours.text
    assert [choice.finish_reason for choice in choices if choice.finish_reason] == [
        ours.finish_reason
    ]
    usage = next((chunk.usage for chunk in reversed(chunks) if chunk.usage), None)
    assert (usage and usage.completion_tokens) == (ours.usage and ours.usage.completion_tokens)
