"""probe/same-prompt: the prompt tokens of a problem's samples against each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from healthcheck.core.records import CheckResult
from healthcheck.extensions.simulator.server import Simulator
from healthcheck.stages.probe.checks import CHECKS
from healthcheck.stages.probe.records import ProbeRun, Sample
from healthcheck.stages.probe.run.folder import load
from tests.support.probes import Probe, behaviour, recorded, rewritten

OWN = 87


def judged(run: ProbeRun) -> CheckResult:
    return next(check for check in CHECKS if check.id == "probe/same-prompt").judge(run)


def outcome(folder: Path, counts: dict[int, Sequence[int | None]]) -> str:
    """Of a run whose problems have these counts in the order of their samples; the others have OWN."""

    def counted(sample: Sample) -> Sample:
        row = counts.get(sample.problem)
        return replace(sample, prompt_tokens=row[sample.repeat] if row else OWN)

    return judged(rewritten(load(recorded(folder, 0.9)), counted)).outcome.value


MORE = (OWN, OWN, OWN + 17, OWN, OWN)


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ({}, "pass"),
        (dict.fromkeys(range(3), MORE), "fail"),
        (dict.fromkeys(range(2), MORE), "warn"),
        (dict.fromkeys(range(60), (OWN, OWN + 4, OWN, OWN + 4, OWN)), "fail"),
        (dict.fromkeys(range(60), (OWN, OWN + 2, OWN, OWN + 1, OWN)), "warn"),
        (dict.fromkeys(range(60), (OWN, OWN + 32, OWN, OWN + 128, OWN)), "warn"),
        (dict.fromkeys(range(60), (OWN, OWN, OWN + 16, OWN, OWN)), "warn"),
        (dict.fromkeys(range(60), (OWN + 48, OWN, OWN, OWN + 48, OWN)), "warn"),
        (dict.fromkeys(range(60), (None, OWN, None, OWN, OWN)), "pass"),
        (dict.fromkeys(range(60), (None, None, None, None, None)), "skip"),
        (dict.fromkeys(range(60), (OWN, None, None, None, None)), "skip"),
    ],
)
def test_counts_that_differ_are_told(
    tmp_path: Path, counts: dict[int, Sequence[int | None]], expected: str
) -> None:
    """A server that counts no cached blocks differs by whole blocks, whichever sample was cached."""
    assert outcome(tmp_path / "run", counts) == expected


def test_another_prompt_is_shown_by_its_counts(tmp_path: Path) -> None:
    run = rewritten(
        load(recorded(tmp_path / "run", 0.9)),
        lambda each: replace(each, prompt_tokens=MORE[each.repeat]),
    )
    assert "87, 87, 104, 87, 87; so for 60 of 60 problems" in judged(run).findings[0].seen


@pytest.mark.process
def test_the_counts_of_a_server_are_kept_with_its_answers(probe: Probe) -> None:
    with Simulator(behaviour()) as server:
        run = probe(server.url)
    assert all(sample.prompt_tokens for sample in run.samples)
    assert judged(run).outcome.value == "pass"
