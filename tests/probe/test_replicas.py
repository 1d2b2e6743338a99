"""One run over several servers of a model: what one server gives, a dead one survived, a bad one named."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import time
from collections import Counter
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from healthcheck.cli import main
from healthcheck.core.progress import Silent
from healthcheck.core.records import CheckResult, Level, Outcome
from healthcheck.errors import Blocked, UsageError
from healthcheck.simulator.server import Simulator
from healthcheck.stages.probe.checks import OF_SEVERAL, checks_of
from healthcheck.stages.probe.facts import measure
from healthcheck.stages.probe.records import ProbeRun, ProbeSettings, Sample
from healthcheck.stages.probe.results.by_server import shares
from healthcheck.stages.probe.results.metrics import compute_metrics
from healthcheck.stages.probe.run.folder import load
from healthcheck.stages.probe.run.journal import read
from tests.probe.conftest import QUICK, SETTINGS, Probe, behaviour, even, recorded, rewritten
from tests.probe.test_resume import OPTIONS, command, wait_for_lines

NAMES = ("http://10.0.0.1:8000", "http://10.0.0.2:8000", "http://10.0.0.3:8000")


def judged(run: ProbeRun) -> CheckResult:
    (check,) = OF_SEVERAL
    return check.judge(run)


def said(result: CheckResult, level: Level) -> str:
    return " ".join(found.seen for found in result.findings if found.level is level)


def spread(run: ProbeRun, *, bad: str = "") -> ProbeRun:
    """The run as if three servers had answered in turn, of which one is wrong about every other problem."""

    def answered(sample: Sample) -> Sample:
        server = NAMES[(sample.problem + sample.repeat) % 3]
        wrong = server == bad and sample.problem % 2 == 0
        return replace(sample, server=server, text="The answer is -1" if wrong else sample.text)

    told = {"version": "0.1", "header": "", "root": "/w", "owned_by": "", "max_model_len": 1}
    changed = rewritten(run, answered)
    settings = replace(run.settings, url=NAMES[0], replicas=NAMES[1:])
    return replace(changed, settings=settings, server={"replicas": dict.fromkeys(NAMES, told)})


@pytest.mark.process
def test_three_servers_one_killed_and_the_run_killed_give_the_figures_of_one(tmp_path: Path) -> None:
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    slow = behaviour(tokens_per_second=250)
    with ExitStack() as stack:
        one, two, three = (stack.enter_context(Simulator(slow)) for _ in range(3))
        with Simulator(behaviour()) as alone:
            subprocess.run(command(alone.url, *OPTIONS, "--out", str(whole)), check=True, capture_output=True)
        options = (two.url, three.url, *OPTIONS, "--out", str(parts))
        process = subprocess.Popen(command(one.url, *options), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        wait_for_lines(parts / "logs/samples.jsonl", 20, process)
        while two.url not in (parts / "logs/samples.jsonl").read_text() and process.poll() is None:
            time.sleep(0.01)
        two.__exit__(None, None, None)
        wait_for_lines(parts / "logs/samples.jsonl", 50, process)
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=120)
        first = {sample.order: sample for sample in read(parts / "logs/samples.jsonl")}
        again = command(one.url, three.url, "--resume", str(parts))
        done = subprocess.run(again, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = [json.loads(line) for line in (parts / "logs/samples.jsonl").read_bytes().splitlines()]
    assert Counter(line["order"] for line in lines) == dict.fromkeys(range(120), 1)
    assert {line["server"] for line in lines} == {one.url, two.url, three.url}
    for order, sample in first.items():
        assert load(parts).samples[order] == sample, "an answered sample was asked again"
    assert [(s.order, s.problem, s.repeat, s.text) for s in load(parts).samples] == [
        (s.order, s.problem, s.repeat, s.text) for s in load(whole).samples
    ]
    figures = [json.loads((folder / "results/metrics.json").read_text()) for folder in (whole, parts)]
    by_server = figures[1].pop("servers")
    assert figures[0] == figures[1]
    assert sum(each["samples"] for each in by_server.values()) == 120
    checks = {each["id"] for each in json.loads((parts / "report.json").read_text())["checks"]}
    assert "probe/replicas" in checks


@pytest.mark.process
def test_a_server_that_dies_is_taken_out_and_named(probe: Probe) -> None:
    slow = behaviour(tokens_per_second=250)
    with Simulator(slow) as one, Simulator(replace(slow, faults=("dies-after-15",))) as two:
        run = probe(one.url, replicas=(two.url,), problems=40, samples=3)
    assert not run.failed
    assert len(run.samples) == 120
    assert [lost.url for lost in run.lost] == [two.url]
    result = judged(run)
    assert result.outcome is Outcome.WARN
    assert f"{two.url} was taken out of the run" in said(result, Level.WARN)
    completes = next(check for check in checks_of(run.servers) if check.id == "probe/completes").judge(run)
    assert f"{two.url}: connection" in said(completes, Level.WARN)
    assert two.url not in run.again
    assert one.url in run.again


@pytest.mark.process
@pytest.mark.parametrize("fault", ["chat-500", "chat-404", "cut"])
def test_a_server_that_answers_nothing_swallows_no_sample(probe: Probe, fault: str) -> None:
    with Simulator(behaviour()) as sound, Simulator(behaviour(faults=(fault,))) as broken:
        run = probe(broken.url, replicas=(sound.url,), problems=40, samples=3)
    assert not run.failed
    assert {sample.server for sample in run.samples} == {sound.url}


@pytest.mark.process
def test_a_server_that_hangs_is_taken_out(probe: Probe) -> None:
    with Simulator(behaviour()) as sound, Simulator(behaviour(faults=("never-answers",))) as hung:
        run = probe(hung.url, replicas=(sound.url,), problems=20, samples=2, patience=replace(QUICK, silence_s=4))
    assert not run.failed
    assert len(run.samples) == 40
    assert [lost.url for lost in run.lost] == [hung.url]
    assert "silent" in run.lost[0].why


@pytest.mark.slow
def test_where_all_servers_die_the_run_ends_and_can_be_continued(tmp_path: Path) -> None:
    with ExitStack() as stack:
        servers = [stack.enter_context(Simulator(behaviour(tokens_per_second=100))) for _ in range(2)]
        urls = [server.url for server in servers]
        process = subprocess.Popen(
            command(*urls, *OPTIONS, "--set", "attempts=2", "--set", "strikes=5", "--out", str(tmp_path / "run")),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        wait_for_lines(tmp_path / "run/logs/samples.jsonl", 10, process)
    _, error = process.communicate(timeout=120)
    assert process.returncode == 1, error.decode()
    run = load(tmp_path / "run")
    assert "times in a row; the last: http://127.0.0.1" in run.stopped
    with Simulator(behaviour()) as back:
        assert main(["probe", back.url, "--resume", str(tmp_path / "run")]) == 0
    assert len(load(tmp_path / "run").samples) == 120
    assert not load(tmp_path / "run").failed


@pytest.mark.process
def test_the_faster_server_answers_more(probe: Probe) -> None:
    with Simulator(behaviour()) as fast, Simulator(behaviour(tokens_per_second=30)) as slow:
        run = probe(slow.url, replicas=(fast.url,), problems=40, samples=3, concurrency=4)
    counts = Counter(sample.server for sample in run.samples)
    assert counts[fast.url] > counts[slow.url] > 0


class Heard(Silent):
    """Keeps the progress lines."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def update(self, text: str, *, done: int = 0, total: int = 0) -> None:
        self.lines.append(text)


@pytest.mark.process
def test_each_server_has_so_many_requests_open_and_the_progress_says_so(tmp_path: Path) -> None:
    heard = Heard()
    slow = behaviour(tokens_per_second=20)
    with Simulator(slow) as one, Simulator(slow) as two:
        settings = ProbeSettings(url=one.url, replicas=(two.url,), problems=16, samples=1, concurrency=4)
        run = measure(settings, heard, tmp_path / "run")
    assert Counter(sample.server for sample in run.samples).keys() == {one.url, two.url}
    assert any("8 in flight at 2 of 2 servers" in line for line in heard.lines), heard.lines
    assert not any("9 in flight" in line for line in heard.lines)


@pytest.mark.process
def test_another_model_is_wrong_usage(probe: Probe) -> None:
    with Simulator(behaviour()) as one, Simulator(behaviour(model="another")) as two:
        with pytest.raises(UsageError) as raised:
            probe(one.url, replicas=(two.url,))
        assert str(raised.value) == f"the server at {two.url} has no model 'simulated'; it lists 'another'"


def test_one_server_named_twice_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["probe", NAMES[0], f"{NAMES[0]}/v1"]) == 2
    assert "named twice" in capsys.readouterr().err


@pytest.mark.process
def test_a_server_that_does_not_answer_at_the_start_is_named(probe: Probe) -> None:
    with socket.create_server(("127.0.0.1", 0)) as nobody:
        url = f"http://127.0.0.1:{nobody.getsockname()[1]}"
    with Simulator(behaviour()) as one, pytest.raises(Blocked, match=url):
        probe(one.url, replicas=(url,))


@pytest.mark.process
def test_another_context_length_is_said_and_the_shorter_one_counts(probe: Probe) -> None:
    with Simulator(behaviour()) as one, Simulator(behaviour(context_tokens=1000)) as two:
        run = probe(one.url, replicas=(two.url,))
    assert run.settings.max_tokens < 1000
    assert not run.failed
    assert "max model len" in said(judged(run), Level.WARN)


def test_one_bad_server_among_three_is_named(tmp_path: Path) -> None:
    run = load(recorded(tmp_path / "run", 0.8))
    result = judged(spread(run, bad=NAMES[1]))
    assert result.outcome is Outcome.FAIL
    assert f"{NAMES[1]} is worse than the others" in said(result, Level.FAIL)
    assert NAMES[0] not in said(result, Level.FAIL)
    assert NAMES[2] not in said(result, Level.FAIL) + said(result, Level.WARN)


def test_one_bad_server_is_found_with_one_sample_a_problem(tmp_path: Path) -> None:
    run = load(recorded(tmp_path / "run", 0.8, settings=replace(SETTINGS, problems=300, samples=1)))
    assert judged(spread(run)).outcome is Outcome.PASS
    result = judged(spread(run, bad=NAMES[2]))
    assert f"{NAMES[2]} is worse than the others" in said(result, Level.FAIL)


def test_servers_that_are_alike_pass_and_the_report_says_what_was_seen(tmp_path: Path) -> None:
    run = spread(load(recorded(tmp_path / "run", 0.7)))
    result = judged(run)
    assert result.outcome is Outcome.PASS
    assert all(f"{name} " in said(result, Level.NOTE) for name in NAMES)
    assert "is found in at least four of five such runs" in said(result, Level.NOTE)
    assert [share.samples for share in shares(run)] == [100, 100, 100]


@pytest.mark.process
def test_a_run_with_a_bad_server_is_not_a_reference(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Simulator(behaviour(accuracy=even(1.0))) as good, Simulator(behaviour(accuracy=even(0.5))) as bad:
        options = ["--problems", "60", "--samples", "4", "--concurrency", "4", "--out", str(tmp_path / "run")]
        assert main(["probe", good.url, bad.url, *options]) == 1
        assert f"{bad.url} is worse than the others" in " ".join(capsys.readouterr().out.split())
        assert main(["probe", good.url, *options[:-1], str(tmp_path / "two"), "--reference", str(tmp_path / "run")])
    assert "its own probe/replicas did not pass" in " ".join(capsys.readouterr().err.split())


def test_the_figures_by_server_are_in_the_metrics(tmp_path: Path) -> None:
    alone = load(recorded(tmp_path / "run", 0.7))
    assert "servers" not in compute_metrics(alone)
    found = compute_metrics(spread(alone))
    servers = found.pop("servers")
    assert isinstance(servers, dict)
    assert list(servers) == list(NAMES)
    assert found == compute_metrics(alone)
