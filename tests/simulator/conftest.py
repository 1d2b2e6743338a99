"""Asking a simulated endpoint over HTTP, as a client does."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from healthcheck.core.records import JsonValue
from healthcheck.extensions.simulator import Simulator
from healthcheck.wire.chat import Completion, Message, request_body, user
from healthcheck.wire.client import Client

Ask = Callable[..., Completion]


@pytest.fixture
def ask() -> Ask:
    """The completion of one streamed request; messages may be one text."""

    def asked(
        simulator: Simulator,
        messages: str | list[Message],
        *,
        max_tokens: int = 64,
        temperature: float = 0,
        **fields: JsonValue,
    ) -> Completion:
        whole = [user(messages)] if isinstance(messages, str) else messages
        body = request_body(whole, model="m", max_tokens=max_tokens, temperature=temperature)
        exchange = Client(simulator.url).chat(body | fields)
        assert exchange.status == 200, exchange.body
        assert exchange.completion
        return exchange.completion

    return asked
