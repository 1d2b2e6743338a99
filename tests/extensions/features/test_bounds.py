"""What a server says of its length and its counts costs the kit no more than some memory."""

from __future__ import annotations

import json

import pytest

from healthcheck.core.progress import Silent
from healthcheck.extensions.features.long_texts import MOST_TOKENS, ask_long
from healthcheck.extensions.features.reading import read
from healthcheck.extensions.features.records import BEYOND, CODES, SHORT, Answer, Body
from healthcheck.wire.client import Exchange


@pytest.mark.parametrize(
    ("length", "per_byte", "sent"),
    [
        (10**7, 0.25, True),
        (10**7, 0.05, False),
        (10**12, 0.25, False),
        (10**12, 10**9, True),
        (10**400, 0.25, False),
    ],
)
def test_a_text_has_at_most_64_mb(length: int, per_byte: float, sent: bool) -> None:
    sizes = []

    def ask(body: Body) -> Answer:
        sizes.append(len(json.dumps(body)))
        return Answer(text=CODES[SHORT], read=int(sizes[-1] * per_byte), seconds=1e-6)

    answers, tried = ask_long(ask, length, Silent())
    assert max(sizes) <= 64 * 10**6
    assert 0 < tried <= max(MOST_TOKENS, 100 * per_byte)
    assert (answers[BEYOND].said == "") is sent


@pytest.mark.parametrize(
    ("count", "read_as"), [(2**53, 2**53), (2**53 + 1, None), (10**400, None), (-1, None)]
)
def test_a_count_that_cannot_be_is_none(count: int, read_as: int | None) -> None:
    body = {"choices": [{"message": {"content": "a"}}], "usage": {"prompt_tokens": count}}
    assert read(Exchange(status=200, body=json.dumps(body).encode())).read == read_as
