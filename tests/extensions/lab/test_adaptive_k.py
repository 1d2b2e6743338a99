"""Adaptive k through the real HTTP path: what is saved, what stays the same, what is reported."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from healthcheck.core.progress import Silent
from healthcheck.errors import UsageError
from healthcheck.extensions.lab.adaptive_k import saving
from healthcheck.report.measured import measured
from healthcheck.simulator import Simulator
from healthcheck.stages.probe.facts import measure, resume, stored_metrics
from healthcheck.stages.probe.records import ProbeRun, ProbeSettings
from healthcheck.stages.probe.reference_run import reference_of
from healthcheck.stages.probe.results import figures
from healthcheck.stages.probe.run.folder import load
from healthcheck.stages.probe.statistics.voting import maj_at_n
from tests.probe.conftest import Probe, behaviour, even

pytestmark = pytest.mark.process

N = 7


def rows(run: ProbeRun) -> list[list[tuple[str | None, int]]]:
    """By problem: the answer and the correctness of each sample, in the order of repeats."""
    found: list[list[tuple[str | None, int]]] = [[] for _ in run.problems]
    pairs = zip(run.samples, run.grades, strict=True)
    for sample, grade in sorted(pairs, key=lambda pair: pair[0].repeat):
        found[sample.problem].append((grade.extracted or None, int(grade.correct)))
    return found


def majority(run: ProbeRun) -> float:
    votes = [maj_at_n([a for a, _ in row], [c for _, c in row]) for row in rows(run)]
    return sum(votes) / len(votes)


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[ProbeRun, ProbeRun]:
    """The same server with every sample, and with adaptive k at no error."""
    runs, folder = [], tmp_path_factory.mktemp("runs")
    for name, error in (("all", None), ("adaptive", 0.0)):
        with Simulator(behaviour(accuracy=even(0.6), correlation=0.5, seed=4)) as simulator:
            settings = ProbeSettings(
                url=simulator.url, problems=12, samples=N, concurrency=1, seed=0, full=True, adaptive_k=error
            )
            runs.append(measure(settings, Silent(), folder / name))
    return runs[0], runs[1]


@pytest.mark.slow
def test_the_majority_is_that_of_all_samples_at_fewer(both: tuple[ProbeRun, ProbeRun]) -> None:
    whole, run = both
    found, saved = stored_metrics(run), saving(run)
    # One request at a time: the simulator draws by problem and repeat, so that the samples are the same.
    assert all(short == long[: len(short)] for short, long in zip(rows(run), rows(whole), strict=True))
    assert found[f"maj@{N} (adaptive)"]["value"] == pytest.approx(majority(whole))
    assert saved.late == 0
    assert saved.saved == 12 * N - len(run.samples) > 12
    assert found["adaptive k"]["saved"] == saved.saved
    page = measured(run)
    assert f"{saved.saved} of {12 * N} samples saved" in " ".join(page.said)
    assert f"maj@{N} (adaptive)" in [estimate.name for estimate, _ in page.choices]


def test_other_figures_rest_on_the_samples_that_every_problem_has(both: tuple[ProbeRun, ProbeRun]) -> None:
    whole, run = both
    least = N // 2 + 1
    assert figures.grid(run).repeats == least
    first = [c for row in rows(whole) for _, c in row[:least]]
    assert stored_metrics(run)[f"avg@{least}"]["value"] == pytest.approx(sum(first) / len(first))
    assert f"avg@{N}" not in stored_metrics(run)
    assert run.stopped == ""


def test_what_was_in_flight_moves_no_figure(probe: Probe) -> None:
    with Simulator(behaviour(accuracy=even(0.6), seed=4)) as simulator:
        run = probe(simulator.url, problems=12, samples=N, concurrency=48, adaptive_k=0.0)
    saved = saving(run)
    assert saved.majority is not None
    assert saved.majority.value == pytest.approx(majority(run))  # what came late cannot change what is certain
    assert saved.majority.samples + saved.late == len(run.samples) == 12 * N - saved.saved


def test_an_interrupted_run_has_no_majority_until_it_is_continued(probe: Probe) -> None:
    with Simulator(behaviour(accuracy=even(0.6), seed=4)) as simulator:
        run = probe(simulator.url, problems=12, samples=N, adaptive_k=0.0)
        journal = run.folder / "logs/samples.jsonl"
        journal.write_bytes(b"".join(journal.read_bytes().splitlines(keepends=True)[:40]))
        cut = load(run.folder)
        assert saving(cut).majority is None
        again = resume(cut.settings, Silent(), run.folder)
    saved = saving(again)
    assert saved.majority is not None
    assert saved.saved > 0


def test_adaptive_k_and_references_do_not_mix(probe: Probe) -> None:
    with Simulator(behaviour(accuracy=even(1.0))) as simulator:
        with pytest.raises(UsageError, match="leave adaptive k or the reference away"):
            probe(simulator.url, adaptive_k=0.0, references={"all": 0.9})
        run = probe(simulator.url, problems=12, samples=5, adaptive_k=0.0)
        with pytest.raises(UsageError, match="different numbers of samples"):
            reference_of(run)
        with pytest.raises(UsageError, match="adaptive_k"):
            resume(replace(run.settings, adaptive_k=None), Silent(), run.folder)


class Lines(Silent):
    """Keeps what is said of a run on its way."""

    def __init__(self) -> None:
        self.said: list[tuple[str, int, int]] = []

    def update(self, text: str, *, done: int = 0, total: int = 0) -> None:
        self.said.append((text, done, total))


def test_the_time_left_is_that_of_the_samples_that_may_still_come(tmp_path: Path) -> None:
    lines = Lines()
    with Simulator(behaviour(accuracy=even(1.0), tokens_per_second=60)) as simulator:
        settings = ProbeSettings(url=simulator.url, problems=12, samples=N, concurrency=4, adaptive_k=0.0)
        run = measure(settings, lines, tmp_path / "run")
    assert len(run.samples) < 12 * N
    text, done, total = lines.said[-1]
    assert done == total == len(run.samples)
    assert f"{done}/{done} samples" in text
    least = 12 * (N // 2 + 1)  # all alike: four of seven settle a problem for certain
    ranges = [found for text, _, _ in lines.said if (found := re.search(r"/(\d+) to (\d+) samples", text))]
    assert ranges
    assert all(least <= int(found[1]) <= len(run.samples) < int(found[2]) <= 12 * N for found in ranges)
