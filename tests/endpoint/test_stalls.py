"""A kit that gets no processor for seconds finds what it finds otherwise: it is stopped at a chosen request."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from healthcheck.extensions.simulator import Behaviour, Simulator
from healthcheck.extensions.simulator.request import Request
from healthcheck.stages.endpoint.asking import SHORT_TOKENS
from healthcheck.stages.endpoint.facts import LEFT_TOKENS, interview
from healthcheck.stages.endpoint.records import CLIENT_WAITS_S

pytestmark = pytest.mark.slow
STOPPED_S = 4.0
"""Longer than any answer here takes."""
INTERVIEWS = """
import json, sys
from healthcheck.contract import Task
from healthcheck.stages.endpoint.checks import CHECKS
from healthcheck.stages.endpoint.facts import interview
from healthcheck.core.ledger import Ledger
from healthcheck.core.progress import Silent
from healthcheck.wire.client import Limits

ledger = Ledger(Silent())
limits = Limits(first_event_s=8, between_events_s=8, total_s=60)
ledger.judge(CHECKS, lambda: interview(sys.argv[1], weights="m", limits=limits))
print(json.dumps({result.id: result.outcome.value for result in ledger.results}))
"""


def asks_for(tokens: int) -> Callable[[list[Request]], bool]:
    """Whether an answer of so many tokens has been asked for."""
    return lambda asked: any((request.body or {}).get("max_tokens") == tokens for request in asked)


def objections(behaviour: Behaviour, moment: Callable[[list[Request]], bool]) -> dict[str, str]:
    """What is found by a kit that was stopped when the server had got these requests."""
    with Simulator(behaviour) as simulator:
        kit = subprocess.Popen(
            [sys.executable, "-c", INTERVIEWS, simulator.url], stdout=subprocess.PIPE, text=True
        )
        try:
            while not moment(simulator.requests) and kit.poll() is None:
                time.sleep(0.001)
            assert kit.poll() is None, "the interview ended before the moment came"
            os.kill(kit.pid, signal.SIGSTOP)
            time.sleep(STOPPED_S)
            os.kill(kit.pid, signal.SIGCONT)
            said, _ = kit.communicate(timeout=240)
        finally:
            kit.kill()
            kit.wait()
    return {
        name: outcome
        for name, outcome in json.loads(said).items()
        if outcome not in {"pass", "skip"}
    }


def test_an_instant_answer_that_waits_for_its_reader_is_no_burst() -> None:
    assert objections(Behaviour(model="m"), asks_for(SHORT_TOKENS)) == {}


def test_one_delay_of_the_list_of_models_says_nothing() -> None:
    """It comes later than the evaluation client waits, once."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            time.sleep(CLIENT_WAITS_S + 0.2 if len(asked) == 1 else 0)
            body = b'{"object": "list", "data": [{"id": "m"}]}'
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        facts = interview(f"http://127.0.0.1:{server.server_port}", weights="m")
        server.shutdown()
    assert asked == ["/v1/models"] * 2
    assert facts.models.status == 200


@pytest.mark.parametrize(
    ("fault", "check", "moment"),
    [
        ("burst", "endpoint/stream-incremental", asks_for(SHORT_TOKENS)),
        ("stuck-after-disconnect", "endpoint/disconnect", asks_for(LEFT_TOKENS)),
    ],
)
def test_a_fault_is_found_all_the_same(
    fault: str, check: str, moment: Callable[[list[Request]], bool]
) -> None:
    """The first text takes its time, so that the kit is stopped before it comes."""
    behaviour = Behaviour(model="m", faults=(fault,), first_token_s=0.3, tokens_per_second=60)
    assert objections(behaviour, moment) == {check: "fail"}
