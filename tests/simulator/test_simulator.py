"""The simulated endpoint: known accuracy, known correlation, the same again from the same seed, labelled as simulated."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from healthcheck.core.records import SIMULATOR
from healthcheck.errors import Blocked, UsageError
from healthcheck.extensions.simulator import FAULTS, Behaviour, Manner, Simulator
from healthcheck.wire.chat import request_body, user
from healthcheck.wire.client import Client

pytestmark = pytest.mark.process

ANSWERS = {f"What is {n} and {n}?": str(2 * n) for n in range(200)}
LABELS = {question: ("easy", "hard")[index % 2] for index, question in enumerate(ANSWERS)}


def ask(client: Client, question: str, temperature: float = 0.7) -> str:
    completion = client.chat(
        request_body([user(question)], model="m", max_tokens=200, temperature=temperature)
    ).completion
    assert completion
    return completion.text


def grid(behaviour: Behaviour, samples: int = 5) -> list[list[bool]]:
    """Right or wrong, problem by sample."""
    with Simulator(behaviour) as simulator, ThreadPoolExecutor(4) as pool:
        client = Client(simulator.url)

        def row(question: str) -> list[bool]:
            texts = [ask(client, question) for _ in range(samples)]
            return [text.endswith(f"The answer is {ANSWERS[question]}.") for text in texts]

        return list(pool.map(row, ANSWERS))


@pytest.fixture(scope="module")
def independent() -> list[list[bool]]:
    return grid(
        Behaviour(model="m", answers=ANSWERS, labels=LABELS, accuracy={"easy": 0.9, "hard": 0.4})
    )


def test_each_tier_is_as_accurate_as_was_chosen(independent: list[list[bool]]) -> None:
    easy = [right for row in independent[::2] for right in row]
    hard = [right for row in independent[1::2] for right in row]
    assert 0.85 < sum(easy) / len(easy) < 0.95  # 500 samples: three standard errors are 0.04
    assert 0.33 < sum(hard) / len(hard) < 0.47


@pytest.mark.slow
def test_correlated_samples_agree_more_often(independent: list[list[bool]]) -> None:
    behaviour = Behaviour(
        model="m",
        answers=ANSWERS,
        labels=LABELS,
        accuracy={"easy": 0.9, "hard": 0.4},
        correlation=0.8,
    )
    unanimous = [
        sum(len(set(row)) == 1 for row in rows[1::2]) for rows in (independent, grid(behaviour))
    ]
    assert unanimous[1] > 2 * unanimous[0]


def test_the_question_is_found_within_a_longer_prompt() -> None:
    behaviour = Behaviour(model="m", answers=ANSWERS, accuracy={"medium": 1.0})
    with Simulator(behaviour) as simulator:
        text = ask(Client(simulator.url), "What is 21 and 21?\nEnd with: The answer is N.")
    assert text.endswith("The answer is 42.")


def test_the_same_seed_gives_the_same_answers_and_another_seed_others() -> None:
    texts = []
    for seed in (1, 1, 2):
        with Simulator(Behaviour(model="m", seed=seed)) as simulator:
            texts.append([ask(Client(simulator.url), "tell me something") for _ in range(3)])
    assert texts[0] == texts[1] != texts[2]
    assert len(set(texts[0])) == 3


def test_everything_says_that_it_is_simulated() -> None:
    with Simulator(Behaviour(model="m")) as simulator:
        client = Client(simulator.url)
        listed, chat = (
            client.models(),
            client.chat(request_body([user("hi")], model="m", max_tokens=9, temperature=0)),
        )
    assert listed.headers["server"] == chat.headers["server"] == SIMULATOR
    assert "simulator" in json.loads(listed.body)["data"][0]["owned_by"]
    events = [
        json.loads(line[6:])
        for line in chat.body.decode().splitlines()
        if line.startswith("data: {")
    ]
    assert {event["system_fingerprint"] for event in events} == {"simulated"}


def test_it_keeps_a_record_of_what_it_was_asked() -> None:
    with Simulator(Behaviour(model="m")) as simulator:
        ask(Client(simulator.url), "hello")
        (request,) = simulator.requests
    assert request.body
    assert request.body["messages"] == [{"content": "hello", "role": "user"}]


def test_it_refuses_as_vllm_does() -> None:
    with Simulator(Behaviour(model="m", context_tokens=100)) as simulator:
        client = Client(simulator.url)
        other = client.chat(request_body([user("hi")], model="other", max_tokens=9, temperature=0))
        long = client.chat(
            request_body([user("word " * 200)], model="m", max_tokens=9, temperature=0)
        )
        broken = client.chat_bytes(b'{"messages": ')
    assert (other.status, long.status, broken.status) == (404, 400, 400)
    assert b"maximum context length is 100" in long.body


def test_a_taken_port_and_an_unknown_fault_are_said_so() -> None:
    with Simulator() as first:
        with pytest.raises(Blocked) as taken, Simulator(port=first.port):
            pass
        assert (
            str(taken.value) == f"cannot listen on 127.0.0.1:{first.port}: Address already in use"
        )
    with pytest.raises(UsageError, match="no-such"):
        Simulator(Behaviour(faults=("no-such",)))


def test_many_streams_at_once() -> None:
    with (
        Simulator(Behaviour(model="m", tokens_per_second=300)) as simulator,
        ThreadPoolExecutor(32) as pool,
    ):
        client = Client(simulator.url)
        texts = list(
            pool.map(
                lambda n: ask(client, f"The code word is word{n}. What is the code word?"),
                range(64),
            )
        )
    assert all(f"word{n}" in text for n, text in enumerate(texts))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_command_serves_until_a_signal_and_ends_cleanly(number: signal.Signals) -> None:
    command = [
        sys.executable,
        "-m",
        "healthcheck",
        "simulate",
        "--port",
        "0",
        "--model",
        "m",
        "--problems",
        "5",
    ]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr
        line = process.stderr.readline()
        assert line.startswith("SIMULATED endpoint")
        found = re.search(r"http://\S+", line)
        assert found
        assert Client(found.group()).models().status == 200
        process.send_signal(number)
        assert process.wait(timeout=60) == 0


def test_signals_that_come_at_once_end_the_command() -> None:
    command = [
        sys.executable,
        "-m",
        "healthcheck",
        "simulate",
        "--port",
        "0",
        "--model",
        "m",
        "--problems",
        "5",
    ]
    several = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(4)]
    for process in several:
        with process:
            assert process.stderr
            assert process.stderr.readline().startswith("SIMULATED endpoint")
            for number in [signal.SIGTERM, signal.SIGINT] * 3:
                process.send_signal(number)
            # the last signal may come when Python has begun to end
            assert process.wait(timeout=60) in {0, -signal.SIGTERM, -signal.SIGINT}


def test_the_command_lists_its_faults_and_manners() -> None:
    command = [sys.executable, "-m", "healthcheck", "simulate", "--list"]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert all(name in listed for name in (*FAULTS, *(manner.value for manner in Manner)))


@pytest.mark.parametrize(
    "options",
    [
        ["--accuracy", "easy=2"],
        ["--accuracy", "other=1"],
        ["--fault", "no-such"],
        ["--manner", "no-such"],
        ["--correlation", "7"],
    ],
)
def test_wrong_options_are_wrong_usage(options: list[str]) -> None:
    command = [
        sys.executable,
        "-m",
        "healthcheck",
        "simulate",
        "--port",
        "0",
        "--problems",
        "1",
        *options,
    ]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 2
    assert "Traceback" not in ended.stderr
