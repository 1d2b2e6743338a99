"""The numerics of a real vLLM: healthy, and broken in one way at a time by a plugin that it finds through PYTHONPATH."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from healthcheck.core.progress import Silent
from healthcheck.core.records import CheckResult, Outcome
from healthcheck.extensions.numerics import facts, reference
from healthcheck.extensions.numerics.checks import CHECKS
from healthcheck.extensions.numerics.records import NumericsRun, NumericsSettings, Reference
from tests.support.engines import nginx
from tests.support.servers import serving

pytestmark = pytest.mark.engine
PLUGIN = Path(__file__).parent / "faulty_vllm" / "numerics_faults.py"
RUNS = 4
MOST_REQUESTS = 800
"""A first round of 280, and a second one with twice as many comparisons of what is suspect."""


@dataclass(frozen=True)
class Engine:
    """A server, and the file that holds its fault."""

    url: str
    fault: Path

    def measure(self, fault: str, against: Reference | None = None) -> NumericsRun:
        self.fault.write_text(fault)
        return facts.measure(NumericsSettings(url=self.url), Silent(), against)


@pytest.fixture(scope="module")
def engine(
    tmp_path_factory: pytest.TempPathFactory, engine_environment: dict[str, str], tiny_weights: Path
) -> Iterator[Engine]:
    folder = tmp_path_factory.mktemp("plugin")
    described = folder / "numerics_faults-0.dist-info"
    described.mkdir()
    (described / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: numerics-faults\nVersion: 0\n"
    )
    (described / "entry_points.txt").write_text(
        "[vllm.general_plugins]\nfaults = numerics_faults:register\n"
    )
    shutil.copy(PLUGIN, folder)
    fault = folder / "fault"
    fault.write_text("")
    command = ("vllm", "serve", tiny_weights, "--served-model-name", "tiny", "--enforce-eager", "--max-model-len",
               "512", "--gpu-memory-utilization", "0.2")  # fmt: skip
    variables = {**engine_environment, "PYTHONPATH": str(folder), "NUMERICS_FAULT": str(fault)}
    with serving(command, environment=variables, log=folder / "vllm.log") as url:
        yield Engine(url, fault)


def judged(run: NumericsRun) -> dict[str, CheckResult]:
    return {
        result.id.partition("/")[2]: result for result in (check.judge(run) for check in CHECKS)
    }


def failed(run: NumericsRun) -> set[str]:
    return {name for name, result in judged(run).items() if result.outcome is Outcome.FAIL}


def test_a_healthy_engine_passes_and_is_its_own_reference(engine: Engine, tmp_path: Path) -> None:
    first = engine.measure("")
    reference.keep(tmp_path, first)
    results = judged(engine.measure("", reference.load(tmp_path)))
    assert {result.outcome for result in results.values()} == {Outcome.PASS}
    assert first.requests <= 300
    assert first.server.version.startswith("0.32")


def test_a_digit_that_a_front_changes_is_named(engine: Engine, tmp_path: Path) -> None:
    engine.fault.write_text("")
    changes = (
        "client_body_buffer_size 4m",  # the worker may have no right to write files
        "proxy_buffering off",
        "sub_filter_types text/event-stream",
        "sub_filter_once off",
        'sub_filter \'"content":"4"\' \'"content":"9"\'',
    )
    with nginx(engine.url, tmp_path, *changes) as url:
        run = facts.measure(NumericsSettings(url=url), Silent())
    assert failed(run) == {"own-answers"}
    assert "'9'" in judged(run)["own-answers"].findings[0].seen


@pytest.mark.parametrize(
    ("fault", "check"),
    [
        ("prefix-hit-reads-a-wrong-block", "prefix-cache"),
        ("batch-of-three-reads-a-neighbour", "batch"),
        ("decode-shifts-positions", "decode"),
        (
            "mixed-step-masks-the-prefill",
            "chunked-prefill batch",
        ),  # the first that shows a fault ends the run
        ("block-edge-is-lost", "length decode"),
        ("some-steps-read-stale-memory", "repeat"),
        ("one-place-of-five-reads-a-neighbour", "batch"),
        ("draws-the-likeliest", "sampler"),
        ("draws-at-twice-the-temperature", "sampler"),
        ("a-repetition-penalty", "sampler"),
        ("steps-end-half-of-the-batch", "sampler"),
        ("tells-too-little", "sampler"),
        (
            "overflow-at-long-lengths",
            "length",
        ),  # the last: what is not a number stays in the engine's cache
    ],
)
def test_each_fault_is_named_by_its_relation(engine: Engine, fault: str, check: str) -> None:
    """One of each kind: benchmarks/numerics_faults.py tries all.

    Which requests meet in a step is up to the engine and to how busy the machine is: a run may leave a fault open.
    """
    named: set[str] = set()
    for _ in range(RUNS):
        run = engine.measure(fault)
        assert run.requests <= MOST_REQUESTS
        named |= failed(run)
        if named & set(check.split()):
            return
    pytest.fail(f"{RUNS} runs name {named or 'nothing'}")
