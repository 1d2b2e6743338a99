"""weights/sampling-defaults: which defaults make copies of the samples, and which do not count."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from healthcheck import contract
from healthcheck.contract import Service
from healthcheck.core.records import CheckResult
from tests.weights import folders
from tests.weights.folders import model, plan

CHECK = "weights/sampling-defaults"


def judged(folder: Path, defaults: dict, **options: str) -> CheckResult:
    (model(folder) / "generation_config.json").write_text(json.dumps(defaults))
    return folders.judge(folder, only=CHECK, plan=plan(**options))[CHECK]


@pytest.mark.parametrize(
    ("defaults", "says"),
    [
        ({"temperature": 0}, "a request without a temperature is greedy"),
        (
            {"do_sample": False, "temperature": 0.0},
            "sends 0.01; what the service's sends is not documented",
        ),
        ({"top_k": 1}, "all samples of a problem are copies"),
        ({"top_p": 0.001}, "only the likeliest token is left"),
        ({"min_p": 1.0}, "only the likeliest token is left"),
    ],
)
def test_copies_are_a_warning_that_a_repair_ends(defaults: dict, says: str, tmp_path: Path) -> None:
    found = judged(tmp_path / "w", defaults)
    assert found.outcome.value == "warn"
    assert says in found.findings[0].seen
    name = list(defaults)[-1]
    assert found.findings[0].fix == (
        f"remove {name} from generation_config.json, or pass --generation-config vllm"
    )
    left = {key: value for key, value in defaults.items() if key != name}
    assert judged(tmp_path / "w", left).outcome.value == "pass"
    assert judged(tmp_path / "w", defaults, generation_config="vllm").outcome.value == "pass"


@pytest.mark.parametrize(
    ("defaults", "says"),
    [
        (
            {"do_sample": False},
            "which vLLM does not read: a request is sampled at its own temperature, else at 1",
        ),
        ({"do_sample": False, "temperature": 0.6}, "else at 0.6"),
    ],
)
def test_do_sample_alone_is_a_note(defaults: dict, says: str, tmp_path: Path) -> None:
    found = judged(tmp_path / "w", defaults)
    assert found.outcome.value == "pass"
    assert says in found.findings[0].seen


@pytest.mark.parametrize(
    "defaults", [{"temperature": 0.6, "top_k": 20, "top_p": 0.95}, {"min_p": 0, "top_k": -1}]
)
def test_usual_defaults_pass_without_a_word(defaults: dict, tmp_path: Path) -> None:
    found = judged(tmp_path / "w", defaults)
    assert (found.outcome.value, found.findings) == ("pass", ())


def test_a_client_that_sends_its_own_temperature_makes_the_default_harmless(tmp_path: Path) -> None:
    with contract.judging_for(Service(temperature=0.7)):
        found = judged(tmp_path / "w", {"temperature": 0})
        copies = judged(tmp_path / "w", {"top_k": 1})
    assert found.outcome.value == "pass"
    assert "does not count: the service's client sends 0.7" in found.findings[0].seen
    assert copies.outcome.value == "warn"


def test_vllm_0_7_ignores_the_file_unless_it_is_told_to(tmp_path: Path) -> None:
    (model(tmp_path / "w") / "generation_config.json").write_text('{"top_k": 1}')
    for options, outcome in (({}, "pass"), ({"generation_config": "auto"}, "warn")):
        results = folders.judge(
            tmp_path / "w", only=CHECK, plan=replace(plan(**options), stack="0.7.3")
        )
        assert results[CHECK].outcome.value == outcome
