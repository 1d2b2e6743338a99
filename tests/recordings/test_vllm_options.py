"""The options of each vLLM release, as its own parser lists them."""

from __future__ import annotations

import json

import pytest

from adapter.device import Machine
from adapter.plan import make_plan
from adapter.settings import Setting
from adapter.weights import read_weights
from healthcheck.stages.plan.vllm_cli.catalogue import catalogue, versions
from tests.adapter.models import MODELS
from tests.support.recordings import recording


def recorded_options(version: str) -> set[str]:
    actions = json.loads(recording(f"vllm/flags_{version}.json").read_bytes())["actions"]
    return {flag for action in actions for flag in action["flags"]}


def test_the_catalogues_have_the_recorded_options():
    recorded = {path.stem.removeprefix("flags_") for path in recording("vllm").glob("flags_*.json")}
    assert {"0.18.0", "0.23.0", "0.32.0"} <= recorded <= set(versions())
    for version in recorded:
        ours = {flag for option in catalogue(version).options for flag in option.flags}
        assert ours == recorded_options(version)
        assert catalogue(version).vllm == version


@pytest.mark.parametrize("version", ["0.18.0", "0.23.0", "0.32.0"])
def test_every_option_of_the_adapter_is_one_that_vllm_has(version, tmp_path):
    known = recorded_options(version)
    group = {
        "multi_node": Setting("data-parallel", "x"), "nodes": Setting(("a", "b"), "x"),
        "network_interface": Setting("e", "x"), "node_rank": Setting(1, "x"),
    }  # fmt: skip
    for number, model in enumerate(MODELS):
        folder = tmp_path / str(number)
        folder.mkdir()
        weights = read_weights(model.write(folder))
        for machine in (
            Machine(16, "Ascend910", 65536, "test"),
            Machine(64, "310P3", 43693, "test"),
            Machine(0, None, None, "test"),
        ):
            arguments = make_plan(weights, machine, group).arguments()
            assert {argument for argument in arguments if argument.startswith("--")} <= known
