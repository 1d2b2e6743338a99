from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path

import pytest

from healthcheck.core.progress import Silent
from healthcheck.core.records import Outcome
from healthcheck.errors import Blocked, UsageError
from healthcheck.extensions.simulator.server import Simulator
from healthcheck.stages.probe import facts, grading
from healthcheck.stages.probe.facts import measure, resume
from healthcheck.stages.probe.problems import Problem
from healthcheck.stages.probe.records import ProbeRun, ProbeSettings, Sample
from healthcheck.stages.probe.results import figures
from healthcheck.stages.probe.results.metrics import compute_metrics
from healthcheck.stages.probe.run.folder import load
from healthcheck.stages.probe.run.journal import Journal
from tests.support.probes import QUICK, Probe, behaviour, even, judged, rewritten, seen


def outcomes(run: ProbeRun) -> dict[str, str]:
    return {
        name.removeprefix("probe/"): result.outcome.value for name, result in judged(run).items()
    }


@pytest.mark.process
def test_every_problem_gets_its_samples_once_and_in_rounds(probe: Probe) -> None:
    with Simulator(behaviour(accuracy=even(1.0))) as server:
        run = probe(server.url)
        bodies = [
            request.body for request in server.requests if request.path.endswith("completions")
        ]
    assert sorted((sample.problem, sample.repeat) for sample in run.samples) == [
        (p, r) for p in range(12) for r in range(3)
    ]
    first = run.samples[:12]
    assert {sample.problem for sample in first} == set(range(12))
    assert [sample.problem for sample in first] != list(range(12))
    assert len(bodies) == 36
    assert all(body and list(body) == [
        "stream", "messages", "stream_options", "ignore_eos", "num_return_sequences", "temperature", "max_tokens", "model",
    ] for body in bodies)  # fmt: skip
    assert outcomes(run) == {
        "completes": "pass",
        "degenerate": "pass",
        "truncated": "pass",
        "same-prompt": "pass",
        "crowd": "skip",
        "steady": "skip",
        "accuracy": "warn",
    }
    assert "12 problems" in seen(judged(run)["probe/accuracy"])


@pytest.mark.process
def test_the_figures_are_those_of_the_samples(probe: Probe) -> None:
    with Simulator(behaviour(accuracy={"easy": 1.0, "medium": 0.5, "hard": 0.0})) as server:
        run = probe(server.url, problems=60, samples=5)
    figure = compute_metrics(run)
    rows: dict[int, list[bool]] = {}
    for sample, grade in zip(run.samples, run.grades, strict=True):
        rows.setdefault(sample.problem, []).append(grade.correct)
    assert figure["avg@5"]["value"] == pytest.approx(sum(map(sum, rows.values())) / 300)
    assert figure["accuracy (5 runs average)"]["value"] == figure["avg@5"]["value"]
    assert figure["pass@5"]["value"] == pytest.approx(sum(any(row) for row in rows.values()) / 60)
    assert figure["cons@5"]["value"] == pytest.approx(
        sum(sum(row) > 2.5 for row in rows.values()) / 60
    )
    for name in ("avg@5", "pass@5", "cons@5"):
        assert figure[name]["low"] <= figure[name]["value"] <= figure[name]["high"]
    tiers = figure["tiers"]
    assert tiers["easy"]["correct"] == tiers["easy"]["samples"] == 100
    assert tiers["hard"]["correct"] == 0
    assert json.loads((run.folder / "results/metrics.json").read_text())["avg@5"] == figure["avg@5"]
    lines = (run.folder / "results/grades.jsonl").read_text().splitlines()
    kept = [(line["order"], line["correct"]) for line in map(json.loads, lines)]
    pairs = zip(run.samples, run.grades, strict=True)
    assert kept == [(sample.order, grade.correct) for sample, grade in pairs]


@pytest.mark.process
def test_the_folder_holds_the_run(probe: Probe) -> None:
    with Simulator(behaviour()) as server:
        run = probe(server.url)
    assert load(run.folder) == run
    with pytest.raises(UsageError, match="holds a run already"):
        measure(run.settings, Silent(), run.folder)


@pytest.mark.process
@pytest.mark.parametrize(
    ("fault", "text"),
    [("chat-500", "HTTP 500"), ("chat-404", "HTTP 404"), ("strict-fields", "HTTP 422"), ("cut", "connection"),
     ("error-event", "EngineCore"), ("never-streams", "no chat completion"), ("redirect", "HTTP 307"),
     ("never-answers", "timed out"), ("stalls", "timed out")],
)  # fmt: skip
def test_failed_requests_are_named_and_never_silently_wrong(
    probe: Probe, fault: str, text: str
) -> None:
    patience = replace(QUICK, silence_s=1) if text == "timed out" else QUICK
    with Simulator(behaviour(faults=(fault,))) as server:
        run = probe(server.url, patience=patience)
    result = judged(run)["probe/completes"]
    assert result.outcome is Outcome.FAIL
    assert text in seen(result)
    assert len(run.failed) == len(run.samples) <= 8 + 8, (
        "it gives up on a server that fails in a row"
    )


@pytest.mark.process
def test_a_server_that_refuses_some_requests_is_asked_again_and_warned_of(probe: Probe) -> None:
    with Simulator(behaviour(faults=("busy",), accuracy=even(1.0))) as server:
        run = probe(server.url, patience=replace(QUICK, attempts=30))
    assert not run.failed
    result = judged(run)["probe/completes"]
    assert result.outcome is Outcome.WARN
    assert "HTTP 503" in seen(result)
    assert compute_metrics(run)["avg@3"]["value"] == 1.0


@pytest.mark.process
def test_a_server_that_dies_ends_the_run_and_keeps_what_came(probe: Probe) -> None:
    with Simulator(behaviour(faults=("dies-after-20",))) as server:
        run = probe(server.url, samples=20)
    answered = [sample for sample in run.samples if not sample.error]
    assert len(answered) <= 20
    assert len(run.samples) < run.planned
    assert judged(run)["probe/completes"].outcome is Outcome.FAIL
    assert "requests failed" in run.stopped


@pytest.mark.process
def test_failures_count_as_wrong_and_stand_beside(probe: Probe, tmp_path: Path) -> None:
    with Simulator(behaviour(accuracy=even(1.0))) as server:
        run = probe(server.url)
    assert "without failures" not in compute_metrics(run)
    journal = Journal(run.folder / "logs/samples.jsonl")
    journal.append(replace(run.samples[0], text="", error="HTTP 500"))
    journal.close()
    figure = compute_metrics(load(run.folder))
    assert figure["avg@3"]["value"] == pytest.approx(35 / 36)
    assert figure["without failures"]["value"] == 1.0
    assert figure["failed requests"] == 1


@pytest.mark.process
def test_where_nothing_was_answered_no_answer_is_blamed(probe: Probe) -> None:
    with Simulator(behaviour(faults=("chat-500",))) as server:
        run = probe(server.url)
    figure = compute_metrics(run)
    assert "without failures" not in figure
    assert figure["the service's client will print"] == {}
    assert judged(run)["probe/completes"].outcome is Outcome.FAIL
    assert judged(run)["probe/accuracy"].outcome is Outcome.PASS


@pytest.mark.process
def test_answers_that_are_all_reasoning_are_told_from_garbage(probe: Probe) -> None:
    with Simulator(behaviour(faults=("reasoning-only",))) as server:
        run = probe(server.url)
    (told,) = judged(run)["probe/degenerate"].findings
    assert "empty: 36 of 36" in told.seen
    assert "--reasoning-parser" in told.fix
    assert "first is ''" not in seen(judged(run)["probe/accuracy"])


@pytest.mark.process
def test_max_tokens_leaves_room_for_the_prompt(probe: Probe) -> None:
    with Simulator(behaviour(context_tokens=1024)) as server:
        run = probe(server.url)
    assert not run.failed
    assert run.settings.max_tokens < 1024


@pytest.mark.process
@pytest.mark.parametrize(
    ("faults", "check", "outcome", "text"),
    [(("says-nothing",), "degenerate", "fail", "empty"), (("cut-characters",), "degenerate", "pass", ""),
     (("ignores-sampling",), "degenerate", "warn", "same text"), (("no-done",), "completes", "pass", ""),
     (("cut-cleanly",), "completes", "warn", "did not end")],
)  # fmt: skip
def test_malfunctions_are_seen(
    probe: Probe, faults: tuple[str, ...], check: str, outcome: str, text: str
) -> None:
    with Simulator(behaviour(faults=faults)) as server:
        run = probe(server.url)
    result = judged(run)[f"probe/{check}"]
    assert result.outcome.value == outcome
    assert text in seen(result)


@pytest.mark.process
def test_answers_that_differ_at_temperature_zero_fail(probe: Probe) -> None:
    with Simulator(behaviour(faults=("unsteady",), accuracy=even(0.5))) as server:
        run = probe(server.url, temperature=0.0, problems=30)
    result = judged(run)["probe/degenerate"]
    assert result.outcome is Outcome.FAIL
    assert "of 30 problems got different ones" in seen(result)


@pytest.mark.process
def test_answers_that_stay_at_temperature_zero_pass(probe: Probe) -> None:
    with Simulator(behaviour(accuracy=even(0.5))) as server:
        run = probe(server.url, temperature=0.0, problems=30)
    result = judged(run)["probe/degenerate"]
    assert result.outcome is Outcome.PASS
    assert "at most" in seen(result)


@pytest.mark.process
def test_rules_of_dashes_and_round_numbers_in_right_answers_are_style(probe: Probe) -> None:
    with Simulator(behaviour(accuracy=even(1.0))) as server:
        run = probe(server.url)
    rule = "-" * 60 + "\n"
    ruled = rewritten(run, lambda each: replace(each, text=rule + each.text))
    assert judged(ruled)["probe/degenerate"].outcome is Outcome.PASS
    dead = rewritten(run, lambda each: replace(each, text="!" * 60))
    assert judged(dead)["probe/degenerate"].outcome is Outcome.FAIL


@pytest.mark.process
@pytest.mark.parametrize(
    ("text", "share", "outcome"),
    [
        ("I am a helpful assistant. How can I help you today?", 1.0, "fail"),
        ("I am a helpful assistant. How can I help you today?", 0.3, "warn"),
        ("I am a helpful assistant. How can I help you today?", 0.0, "pass"),
        ("The answer is 7.", 0.9, "pass"),
    ],
)
def test_answers_that_do_not_depend_on_the_question_are_seen(
    probe: Probe, text: str, share: float, outcome: str
) -> None:
    with Simulator(behaviour(accuracy=even(1.0))) as server:
        run = probe(server.url, problems=40)
    deaf = rewritten(
        run, lambda each: replace(each, text=text) if each.problem < 40 * share else each
    )
    assert judged(deaf)["probe/degenerate"].outcome.value == outcome


@pytest.mark.process
def test_one_problem_says_nothing_about_others(probe: Probe) -> None:
    with Simulator(behaviour(accuracy=even(1.0))) as server:
        run = probe(server.url, problems=1)
    assert judged(run)["probe/degenerate"].outcome is Outcome.PASS


class Listener(Silent):
    def __init__(self) -> None:
        self.lines: list[tuple[str, int, int]] = []

    def update(self, text: str, *, done: int = 0, total: int = 0) -> None:
        self.lines.append((text, done, total))


@pytest.mark.process
def test_progress_says_how_far_it_is_and_what_it_sees(tmp_path: Path) -> None:
    listener = Listener()
    with Simulator(behaviour(accuracy=even(1.0), tokens_per_second=300)) as server:
        settings = ProbeSettings(
            url=server.url, problems=12, samples=3, concurrency=4, patience=QUICK
        )
        measure(settings, listener, tmp_path / "run")
    done = [count for _, count, _ in listener.lines]
    assert done == sorted(done)
    assert done[-1] == 36
    assert {total for *_, total in listener.lines} == {36}
    middle = next(text for text, count, _ in listener.lines if 0 < count < 36)
    assert "in flight" in middle
    assert "s left" in middle
    assert "accuracy 100.0 %" in listener.lines[-1][0]


def test_no_server_is_blocked(tmp_path: Path) -> None:
    with pytest.raises(Blocked, match="no server answers"):
        measure(ProbeSettings(url="http://127.0.0.1:9"), Silent(), tmp_path)


@pytest.mark.parametrize("settings", [{"url": "ftp://x"}, {"family": "none"}])
def test_settings_that_cannot_be_used_are_refused(
    tmp_path: Path, settings: dict[str, object]
) -> None:
    with pytest.raises(UsageError):
        measure(replace(ProbeSettings(url="http://127.0.0.1:9"), **settings), Silent(), tmp_path)  # type: ignore[arg-type]


@pytest.mark.process
def test_figures_of_a_run_that_ended_early_come_from_the_complete_stretch(probe: Probe) -> None:
    with Simulator(behaviour()) as server:
        run = probe(server.url)
    early = replace(
        run,
        samples=(*run.samples[:5], *run.samples[6:9]),
        grades=(*run.grades[:5], *run.grades[6:9]),
    )
    assert figures.grid(early).flat == tuple(
        sorted(range(5), key=lambda place: run.samples[place].problem)
    )
    rounds = replace(run, samples=run.samples[:30], grades=run.grades[:30])
    assert figures.grid(rounds).repeats == 2
    assert len(figures.grid(rounds).flat) == 24


@pytest.mark.process
@pytest.mark.parametrize(
    "change",
    [{"samples": 4}, {"temperature": 0.1}, {"seed": 1}, {"problems": 15}, {"max_tokens": 77}],
)
def test_a_run_is_not_continued_with_other_settings(
    probe: Probe, change: dict[str, object]
) -> None:
    with Simulator(behaviour()) as server:
        run = probe(server.url)
        with pytest.raises(UsageError, match=f"{next(iter(change))} .* changed"):
            resume(replace(run.settings, url=server.url, **change), Silent(), run.folder)  # type: ignore[arg-type]


@pytest.mark.process
def test_a_run_is_not_continued_on_another_model(probe: Probe) -> None:
    with Simulator(behaviour()) as server:
        run = probe(server.url)
    with (
        Simulator(behaviour(model="another")) as server,
        pytest.raises(UsageError, match="'simulated'"),
    ):
        resume(replace(run.settings, url=server.url), Silent(), run.folder)


@pytest.mark.process
def test_failed_requests_are_sent_again_on_resume(probe: Probe) -> None:
    with Simulator(behaviour(faults=("chat-500",))) as server:
        run = probe(server.url)
        assert len(run.failed) == len(run.samples) > 0
    with Simulator(behaviour(accuracy=even(1.0))) as server:
        again = resume(replace(run.settings, url=server.url), Silent(), run.folder)
    assert not again.failed
    assert len(again.samples) == again.planned == 36
    assert again.stopped == ""


def test_a_sample_reads_back_as_it_was_written(tmp_path: Path) -> None:
    sample = Sample(
        order=0, problem=1, repeat=2, text="a\nb\u2028c\x00é", faults=("x",), completion_tokens=3
    )
    journal = Journal(tmp_path / "j")
    journal.append(sample)
    journal.close()
    assert (tmp_path / "j").read_bytes().count(b"\n") == 1


@pytest.mark.process
def test_no_expression_is_graded_in_the_event_loop_that_reads_the_streams(
    probe: Probe, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    loops: list[asyncio.AbstractEventLoop | None] = []

    def graded(problem: Problem, text: str, *, finish_reason: str) -> grading.Grade:
        loops.append(asyncio._get_running_loop())
        return grading.grade(problem, text, finish_reason=finish_reason)

    monkeypatch.setattr(facts, "grade", graded)
    rows = [
        {"question": f"Expand (x + {n})^2.", "answer": f"x^2 + {2 * n}x + {n * n}"}
        for n in range(1, 5)
    ]
    data = tmp_path / "expand.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with Simulator(behaviour(accuracy=even(1.0))) as server:
        run = probe(server.url, dataset=str(data), problems=4)
    assert loops == [None] * len(run.samples)
