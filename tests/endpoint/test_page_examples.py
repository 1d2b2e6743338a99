"""The page of an endpoint check shows an answer that it objects to, and the right one: both are judged.

Whole responses are sent by a server and read by the kit's client. Texts, token counts and times are put into an
interview as they stand.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from healthcheck.contract import Task
from healthcheck.core.records import Outcome
from healthcheck.stages.endpoint.arrivals import LEAST_TURNS
from healthcheck.stages.endpoint.checks import CHECKS
from healthcheck.stages.endpoint.records import (
    Crowd,
    Interview,
    Opening,
    Pairs,
    Sampling,
    Shown,
    Step,
    Turn,
)
from healthcheck.verify import catalogue
from healthcheck.wire.client import Client, Exchange
from tests.endpoint.by_hand import interview, streamed
from tests.endpoint.test_conversation import counted, steps, talked
from tests.support.page_examples import example, pages

pytestmark = pytest.mark.process

NOT_RUN = {"endpoint/disconnect": "shows the code of a server"}
PAGES = [page for page in pages("endpoint") if page.id not in NOT_RUN]
MAX_TOKENS = 4
MODELS, STREAMED, PLAIN = "GET /v1/models", "streamed answer", "plain answer"


@contextmanager
def serving(response: str) -> Iterator[str]:
    """The address of a server that gives this response to every request."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.do_POST()

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            self.wfile.write(response.encode())
            self.close_connection = True

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def received(subject: str, text: str) -> Exchange:
    """What the kit's client makes of a response."""
    head, _, body = text.partition("\n\n")
    response = head.replace("\n", "\r\n") + "\r\n\r\n" + body
    asked = {
        "messages": [{"role": "user", "content": "The capital?"}],
        "max_tokens": MAX_TOKENS,
        "ignore_eos": False,
    }
    with serving(response) as address:
        client = Client(address)
        if subject == MODELS:
            return client.models()
        return client.chat({**asked, "stream": subject == STREAMED})


def of_responses(page: catalogue.Page, texts: dict[str, str]) -> Interview:
    """An interview in which the server gave these responses."""
    came = {subject: received(subject, text) for subject, text in texts.items()}
    stream = came.get(STREAMED, streamed())
    plain = came.get(PLAIN)
    facts: dict[str, Any] = {"models": came[MODELS]} if MODELS in came else {}
    if stream.status == 200:
        facts |= {"streams": (stream,), "limited": stream, "long": stream}
    if plain and page.id == "endpoint/bad-request":
        facts |= {"malformed": (plain,), "after_malformed": streamed()}
    elif plain:
        facts |= {"plains": (plain,), "foreign": Pairs(streams=(stream,), plains=(plain,))}
    if page.id == "endpoint/extra-fields" and stream.status != 200:
        without = Opening(name="/weights", left_out=("ignore_eos",), exchange=streamed())
        facts |= {"openings": (Opening(name="/weights", left_out=(), exchange=stream), without)}
    return interview(stream, **facts)


def arrivals(text: str) -> Interview:
    quick, long = (
        streamed(seconds=(0.2, 0.21)),
        streamed(seconds=tuple(map(float, re.findall(r"(?m)^[\d.]+", text)))),
    )
    return interview(
        quick,
        streams=(quick,),
        long=long,
        turns=(Turn(short=(quick,) * 3, long=long),) * LEAST_TURNS,
    )


def crowd(text: str) -> Interview:
    lines, said = zip(*(re.split(r" +→ ", line) for line in text.splitlines()), strict=True)
    rounds = (tuple(map(streamed, said)), tuple(map(streamed, said)))
    return interview(streamed(), crowd=Crowd(lines=lines, rounds=rounds))


def untold(text: str) -> Interview:
    knows = counted(100, "kalo77")
    return interview(
        streamed(),
        conversation=talked(history=180, system=180, alone=counted(20, text), same=knows),
    )


def samples(text: str) -> Interview:
    alike = streamed("The same short answer to the first four requests.")
    hot = tuple(map(streamed, text.splitlines()))
    return interview(streamed(), sampling=Sampling(warm=(alike, alike), hot=hot, freed=hot))


def story(text: str) -> Interview:
    answers = (streamed(text.strip()),) * 2
    return interview(streamed(), stories=answers, sampling=Sampling(warm=answers * 2))


def turns(text: str) -> Interview:
    short, longer = map(int, re.findall(r"(?m)^\d+", text))
    assert short == 100, "as talked() has it"
    return interview(
        streamed(), conversation=talked(history=longer, system=longer), steps=steps(100, 180)
    )


def growing(text: str) -> Interview:
    found = re.findall(r"(\d+) +with +(\d+) unit", text)
    return interview(
        streamed(),
        steps=tuple(Step(units=int(units), exchange=counted(int(count))) for count, units in found),
    )


def pictures(text: str) -> Interview:
    answers = [line.split("→ ")[1] for line in text.splitlines()]
    shown = Shown(
        streams=tuple(counted(40, each) for each in answers), plain=(), without=counted(40, "No.")
    )
    return interview(streamed(), task=Task.IMAGE_TEXT_TO_TEXT, shown=shown)


AS_IT_STANDS: dict[str, Callable[[str], Interview]] = {
    "endpoint/stream-incremental": arrivals,
    "endpoint/concurrency": crowd,
    "endpoint/isolation": untold,
    "endpoint/sampling": samples,
    "endpoint/degenerate": story,
    "endpoint/multi-turn": turns,
    "endpoint/system-role": turns,
    "endpoint/long-prompt": growing,
    "endpoint/image": pictures,
}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.id.removeprefix("endpoint/"))
def test_a_check_objects_to_its_example_and_not_to_the_right_answer(page: catalogue.Page) -> None:
    check = next(each for each in CHECKS if each.id == page.id)
    shown = example(page)
    for texts, outcomes in (
        (shown.wrong, {Outcome.FAIL, Outcome.WARN}),
        (shown.right, {Outcome.PASS}),
    ):
        read = AS_IT_STANDS.get(page.id)
        facts = read(*texts.values()) if read else of_responses(page, texts)
        result = check.judge(facts)
        assert result.outcome in outcomes, (texts, result.because, result.findings)
