"""A run that is killed, at any moment, and continued."""

from __future__ import annotations

import json
import os
import re
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies

from healthcheck.cli import main
from healthcheck.errors import KitFailure, UsageError
from healthcheck.extensions.simulator.server import Simulator
from healthcheck.stages.probe.records import Sample
from healthcheck.stages.probe.run import journal
from healthcheck.stages.probe.run.folder import load
from healthcheck.stages.probe.run.journal import Journal, read
from healthcheck.system import json_text
from tests.support.probes import behaviour

OPTIONS = ("--problems", "30", "--samples", "4", "--concurrency", "8", "--temperature", "0")


def command(url: str, *options: str) -> list[str]:
    return [sys.executable, "-m", "healthcheck", "probe", url, *options]


def wait_for_lines(path: Path, count: int, process: subprocess.Popen[bytes]) -> None:
    """Until the journal has so many lines or the process has ended."""
    while process.poll() is None:
        if path.exists() and path.read_bytes().count(b"\n") >= count:
            return
        time.sleep(0.005)


@pytest.mark.slow
@pytest.mark.parametrize(
    "signals",
    [(signal.SIGKILL,), (signal.SIGKILL, signal.SIGKILL, signal.SIGINT)],
    ids=["once", "thrice"],
)
def test_killed_and_continued_gives_the_same_numbers(
    tmp_path: Path, signals: tuple[signal.Signals, ...]
) -> None:
    with Simulator(behaviour(tokens_per_second=600)) as server:
        whole, parts = tmp_path / "whole", tmp_path / "parts"
        subprocess.run(
            command(server.url, *OPTIONS, "--out", str(whole)), check=True, capture_output=True
        )
        arguments = [*OPTIONS, "--out", str(parts)]
        for number, sign in enumerate(signals, 1):
            process = subprocess.Popen(
                command(server.url, *arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE
            )
            wait_for_lines(parts / "logs/samples.jsonl", 25 * number, process)
            process.send_signal(sign)
            _, said = process.communicate(timeout=120)
            assert process.returncode == (-sign if sign is signal.SIGKILL else 3), said.decode()
            before = {sample.order: sample for sample in read(parts / "logs/samples.jsonl")}
            assert 0 < len(before) < 120
            arguments = ["--resume", str(parts)]
        subprocess.run(command(server.url, *arguments), check=True, capture_output=True)
    first, second = load(whole), load(parts)
    assert [(s.order, s.problem, s.repeat, s.text) for s in second.samples] == [
        (s.order, s.problem, s.repeat, s.text) for s in first.samples
    ]
    assert len((parts / "logs/samples.jsonl").read_bytes().splitlines()) == 120
    assert all(second.samples[order] == sample for order, sample in before.items())
    metrics = [
        json.loads((folder / "results/metrics.json").read_text()) for folder in (whole, parts)
    ]
    assert metrics[0] == metrics[1]


@pytest.mark.process
def test_an_interrupted_run_is_inconclusive_and_keeps_its_samples(tmp_path: Path) -> None:
    with Simulator(behaviour(tokens_per_second=200)) as server:
        process = subprocess.Popen(
            command(server.url, "--out", str(tmp_path / "run")),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        wait_for_lines(tmp_path / "run/logs/samples.jsonl", 30, process)
        process.send_signal(signal.SIGINT)
        out, error = process.communicate(timeout=120)
    assert process.returncode == 3, error.decode()
    report = json.loads((tmp_path / "run/report.json").read_text())
    assert report["verdict"] == "inconclusive"
    assert report["metrics"]["samples"] >= 30
    assert "--resume" in out.decode()
    assert b"Traceback" not in error
    taken, counted = len(load(tmp_path / "run").samples), report["metrics"]["samples in figures"]
    seen = " ".join(check["detail"] for check in report["checks"])
    assert f"{taken} were taken: interrupted" in seen
    left_out = re.findall(r"(\d+) more of the (\d+) samples count in no figure", seen)
    assert left_out == ([(str(taken - counted), str(taken))] if taken > counted else [])
    assert "lean" not in seen, "a person ended it, no answer did"


def test_a_run_is_not_continued_by_two_at_once(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "samples.jsonl")
    with pytest.raises(UsageError, match="another process"):
        Journal(tmp_path / "samples.jsonl")
    journal.close()
    Journal(tmp_path / "samples.jsonl").close()


def test_a_disk_that_takes_no_more_is_the_kits_failure(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "samples.jsonl")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, hard))
    try:
        with pytest.raises(KitFailure, match="cannot record"):
            journal.append(Sample(order=0, problem=0, repeat=0))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        journal.close()
    assert read(tmp_path / "samples.jsonl") == ()


def test_a_journal_with_a_line_that_no_answer_can_have_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal, "MAX_LINE_BYTES", 1000)
    path = tmp_path / "samples.jsonl"
    with path.open("wb") as file:
        file.write(json_text.dump_line(Sample(order=0, problem=0, repeat=0)))
        file.write(json_text.dump_line(Sample(order=1, problem=0, repeat=1, text="x" * 2000)))
    with pytest.raises(UsageError, match="more than 1000 bytes"):
        read(path)


samples = strategies.builds(
    Sample,
    order=strategies.integers(0, 50),
    problem=strategies.just(0),
    repeat=strategies.just(0),
    text=strategies.text(),
    error=strategies.text(max_size=5),
)


@given(written=strategies.lists(samples, max_size=8), cut=strategies.integers(0, 200))
@settings(deadline=None)
def test_a_torn_line_is_dropped_and_nothing_else(
    tmp_path_factory: pytest.TempPathFactory, written: list[Sample], cut: int
) -> None:
    path = tmp_path_factory.mktemp("j") / "samples.jsonl"
    journal = Journal(path)
    for sample in written:
        journal.append(sample)
    journal.close()
    data = path.read_bytes()
    lines = data.splitlines(keepends=True)
    kept = data[: max(0, len(data) - cut)]
    path.write_bytes(kept)
    whole = kept.count(b"\n")
    expected = {
        json_text.load_as(line, Sample).order: json_text.load_as(line, Sample)
        for line in lines[:whole]
    }
    assert {sample.order: sample for sample in read(path)} == expected
    again = Journal(path)
    extra = Sample(order=99, problem=0, repeat=0)
    again.append(extra)
    again.close()
    assert {sample.order: sample for sample in read(path)} == {**expected, 99: extra}
    os.unlink(path)


def as_of_several_servers(folder: Path) -> None:
    """Make a run folder what an earlier kit wrote, which spread a run over several servers."""
    first, second = servers = ("http://10.0.0.1:8000", "http://10.0.0.2:8000")
    head = json.loads((folder / "configs/probe.json").read_text())
    head["settings"] |= {"url": first, "replicas": [second], "commit": "c" * 40}
    head["server"]["replicas"] = {
        url: {"version": "1", "header": "", "max_model_len": 9} for url in servers
    }
    (folder / "configs/probe.json").write_text(json.dumps(head))
    outcome = json.loads((folder / "logs/outcome.json").read_text())
    outcome["lost"] = [{"url": second, "why": "silent"}]
    (folder / "logs/outcome.json").write_text(json.dumps(outcome))
    lines = map(json.loads, (folder / "logs/samples.jsonl").read_text().splitlines())
    named = [json.dumps({**line, "server": servers[line["order"] % 2]}) for line in lines]
    (folder / "logs/samples.jsonl").write_text("\n".join(named) + "\n")


@pytest.mark.process
def test_a_run_that_several_servers_answered_is_read_and_continued_on_one(tmp_path: Path) -> None:
    with Simulator(behaviour()) as server:
        assert main(["probe", server.url, *OPTIONS, "--out", str(tmp_path / "run")]) == 0
        whole, journal_file = load(tmp_path / "run"), tmp_path / "run/logs/samples.jsonl"
        as_of_several_servers(tmp_path / "run")
        assert load(tmp_path / "run").samples == whole.samples
        journal_file.write_text("".join(journal_file.read_text().splitlines(keepends=True)[:50]))
        assert main(["probe", server.url, "--resume", str(tmp_path / "run")]) == 0
    run = load(tmp_path / "run")
    assert (run.settings, run.grades) == (whole.settings, whole.grades)
