"""The simulated endpoint with its faults of kernels: a healthy one passes, and each fault is named by its check."""

from __future__ import annotations

import json
import subprocess

import pytest

from healthcheck.core.progress import Silent
from healthcheck.core.records import CheckResult, Outcome
from healthcheck.errors import Blocked
from healthcheck.extensions.numerics import facts
from healthcheck.extensions.numerics.checks import CHECKS
from healthcheck.extensions.numerics.records import NumericsRun, NumericsSettings
from healthcheck.extensions.simulator import FAULTS, Behaviour, Simulator

KERNELS = {name: fault for name, fault in FAULTS.items() if fault.check.startswith("numerics/")}


ALSO = {
    "decode-drifts": {"numerics/length"},  # there a completion is decoded too
    "long-prompts-drift": {"numerics/length"},
    "never-repeats": {check.id for check in CHECKS},
    "flat-logprobs": {check.id for check in CHECKS},
}


def measure(simulator: Simulator) -> NumericsRun:
    settings = NumericsSettings(url=simulator.url, longest_tokens=400, max_batch=8)
    return facts.measure(settings, Silent())


def judged(run: NumericsRun) -> dict[str, CheckResult]:
    return {check.id: check.judge(run) for check in CHECKS}


def objections(run: NumericsRun) -> dict[str, Outcome]:
    return {
        name: result.outcome
        for name, result in judged(run).items()
        if result.outcome in {Outcome.FAIL, Outcome.WARN, Outcome.ERROR} or not result.settled
    }


@pytest.mark.process
@pytest.mark.parametrize(
    "dialect",
    [
        "vllm",
        *(pytest.param(each, marks=pytest.mark.slow) for each in ("split", "reasoning")),
    ],
)
def test_a_healthy_server_passes(dialect: str) -> None:
    with Simulator(Behaviour(dialect=dialect)) as simulator:
        run = measure(simulator)
    assert objections(run) == {}
    assert judged(run)["numerics/batch"].outcome is Outcome.PASS


@pytest.mark.process
def test_a_server_without_completions_is_not_judged() -> None:
    with (
        Simulator(Behaviour(dialect="llamacpp")) as simulator,
        pytest.raises(Blocked, match="HTTP 404"),
    ):
        measure(simulator)


@pytest.mark.slow
@pytest.mark.parametrize("name", KERNELS)
def test_a_fault_is_named_by_its_check(name: str) -> None:
    fault = KERNELS[name]
    with Simulator(Behaviour(faults=(name,))) as simulator:
        found = objections(measure(simulator))
    assert found.get(fault.check) is (Outcome.WARN if fault.warns else Outcome.FAIL)
    others = found.keys() - {fault.check}
    assert others <= ALSO.get(name, set())


REAL_ALONE = {"numerics/reference", "numerics/own-answers"}
"""The simulator has no weights, and scores no text."""


def test_every_other_check_has_a_fault_on_its_page() -> None:
    for check in CHECKS:
        named = [name for name, fault in KERNELS.items() if fault.check == check.id]
        assert named or check.id in REAL_ALONE
        assert all(name in check.page for name in named)


def printed(script: str) -> list[list[object]]:
    """What the two commands print: tokens and their log-probabilities."""
    done = subprocess.run(
        ["bash", "-c", script], capture_output=True, text=True, timeout=120, check=True
    )
    parts = done.stdout.split("# ")[1:]
    lists = [
        [json.loads(line.partition(":")[2]) for line in part.splitlines()[1:]] for part in parts
    ]
    return [[value for each in found for value in each] for found in lists]


@pytest.mark.process
@pytest.mark.parametrize(
    "name",
    [
        "prefix-cache-garbles",
        *(
            pytest.param(each, marks=pytest.mark.slow)
            for each in ("one-batch-size-garbles", "streams-garble")
        ),
    ],
)
def test_the_commands_of_a_finding_show_what_is_wrong(name: str) -> None:
    with Simulator(Behaviour(faults=(name,))) as broken, Simulator(Behaviour()) as sound:
        script = reproduction(broken, name)
        (alone, other), (same, healthy) = (
            printed(script),
            printed(script.replace(broken.url, sound.url)),
        )
    assert sorted(map(str, alone)) != sorted(map(str, other))
    assert sorted(map(str, alone)) == sorted(map(str, same)) == sorted(map(str, healthy))
    assert len(script.splitlines()) == 4


@pytest.mark.process
def test_the_commands_show_the_token_that_is_decoded_and_prefilled() -> None:
    with Simulator(Behaviour(faults=("one-length-garbles",))) as broken:
        decoded, prefilled = printed(reproduction(broken, "one-length-garbles"))
    tokens, likely = decoded[: len(decoded) // 2], decoded[len(decoded) // 2 :]
    assert len(tokens) == len(likely) == 5
    assert [tokens[-1], likely[-1]] != prefilled


def reproduction(simulator: Simulator, fault: str) -> str:
    finding = judged(measure(simulator))[KERNELS[fault].check].findings[0]
    return str(finding.evidence["reproduce"])
