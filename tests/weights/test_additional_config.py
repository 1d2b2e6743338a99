"""plan/additional-config: the keys of each release by its source, and what depends on the model."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from adapter import models
from healthcheck.ascend import additional_config, stacks
from tests.weights import folders
from tests.weights.folders import findings, model, plan, said
from tests.weights.test_experts import QWEN3_30B

CHECK = "plan/additional-config"
judge = partial(folders.judge, only=CHECK)
DENSE = folders.QWEN3
MLA = {**QWEN3_30B, "model_type": "deepseek_v3", "kv_lora_rank": 512}
FUSIONS = {"ascend_compilation_config": {"fuse_norm_quant": False}}
TP = {"finegrained_tp_config": {"lmhead_tensor_parallel_size": 2}}
EPLB = {"eplb_config": {"dynamic_eplb": True}}
CHUNKS = {"profiling_chunk_config": {"enabled": True}}
FORBIDS = "Unknown keys are rejected (extra="
NEWEST, FINAL = "0.30.0rc2", "0.23.0.post1"


def judged(
    folder: Path, given: object, row: str, config: dict = DENSE, **options: str
) -> tuple[str | None, str]:
    launch = replace(plan(additional_config=json.dumps(given), **options), stack=row)
    results = judge(model(folder, config), plan=launch)
    return findings(results).get(CHECK), said(results, CHECK)


@pytest.mark.parametrize(
    ("given", "row", "outcome", "says"),
    [
        # the review's B100 to B104, and the tutorials of 0.30.0rc2 that have these keys
        ({"torchair_graph_config": {"enabled": True}}, NEWEST, "fail", "0.9.0rc1 to 0.11.0 has it"),
        ({"ascend_scheduler_config": {"enabled": True}}, "0.28.0rc1", "fail", FORBIDS),
        ({"weight_prefetch_config": {"enabled": True}}, NEWEST, "fail", "0.11.0rc1 to 0.23.0.post1 has it"),
        ({"layer_sharding": ["q_b_proj"]}, NEWEST, "fail", "remove --additional-config"),
        ({"enable_weight_nz_layout": True}, NEWEST, "fail", "0.9.1rc2 to 0.9.1 has it"),
        ({"fuse_muls_add": True}, NEWEST, "fail", "did you mean ascend_compilation_config.fuse_muls_add?"),
        ({"ascend_compilation_config": {"enable_npu_graph_ex": False}}, NEWEST, "fail", "did you mean enable_npugraph_ex?"),
        ({"enable_cpu_bindings": True}, "0.27.1rc1", "fail", "did you mean enable_cpu_binding"),
        ({"scheduler_config": {"profiling_chunk_config": {"enable": False}}}, NEWEST, "fail", "did you mean enabled?"),
        ({"ascend_compilation_config": True}, NEWEST, "fail", "ascend_compilation_config is an object"),
        # the same where they are ignored, or known
        ({"enable_weight_nz_layout": True}, "0.26.0rc1", "warn", "does not have and ignores"),
        ({"torchair_graph_config": {"enabled": True}}, FINAL, "warn", "0.9.0rc1 to 0.11.0 has it"),
        ({"torchair_graph_config": {"enabled": True}}, "0.11.0", None, ""),
        ({"ascend_scheduler_config": {"any": 1}}, "0.11.0", None, ""),
        ({"weight_prefetch_config": {"enabled": True}}, FINAL, None, ""),
        ({"weight_prefetch_config": {"enable": True}}, FINAL, "warn", "did you mean enabled?"),
        ({"eplb_config": {"interval": 1}}, FINAL, "fail", "Config has no attribute '…'"),
        ({"eplb_config": {"num_redundant_experts": 1}}, FINAL, None, ""),
        ({"dynamic_spec_config": {"method_params": {"any": 1}}}, NEWEST, None, ""),
        # what init_ascend_config takes out of the option before the class sees it
        ({"enable_flashcomm1": True, "refresh": False, "enable_balance_scheduling": True}, NEWEST, None, ""),
        (FUSIONS, NEWEST, None, ""),
        (FUSIONS, FINAL, None, ""),
    ],
)  # fmt: skip
def test_keys_of_a_release(
    given: object, row: str, outcome: str | None, says: str, tmp_path: Path
) -> None:
    found, told = judged(tmp_path, given, row)
    assert found == outcome, told
    assert says in told


@pytest.mark.parametrize(
    ("given", "row", "config", "options", "outcome", "says"),
    [
        (TP, FINAL, DENSE, {"data_parallel_size": "2"}, "fail", "only for MOE models"),  # B091
        (TP, FINAL, QWEN3_30B, {"data_parallel_size": "2"}, None, ""),
        (TP, FINAL, QWEN3_30B, {}, "fail", "must divide by data_parallel_size"),
        (TP, "0.22.1rc1", DENSE, {"data_parallel_size": "2"}, None, ""),
        ({"finegrained_tp_config": {"lmhead_tensor_parallel_size": 0}}, FINAL, DENSE, {}, None, ""),
        ({"enable_kv_nz": True}, NEWEST, QWEN3_30B, {}, "fail", "only supported for mla"),
        ({"enable_kv_nz": True}, NEWEST, MLA, {}, "fail", "only be used in D node"),
        ({"enable_kv_nz": True}, NEWEST, MLA, {"kv_transfer_config": '{"kv_role": "kv_consumer"}'}, None, ""),
        ({"enable_kv_nz": False}, NEWEST, QWEN3_30B, {}, None, ""),
        (EPLB, FINAL, QWEN3_30B, {}, "fail", "DYNAMIC_EPLB"),
        (CHUNKS, FINAL, DENSE, {}, "fail", "requires pipeline parallelism"),
        ({"scheduler_config": CHUNKS}, NEWEST, DENSE, {}, "fail", "requires pipeline parallelism"),
        (CHUNKS, FINAL, DENSE, {"pipeline_parallel_size": "2"}, None, ""),
    ],
)  # fmt: skip
def test_keys_that_depend_on_the_launch(
    given: object,
    row: str,
    config: dict,
    options: dict,
    outcome: str | None,
    says: str,
    tmp_path: Path,
) -> None:
    found, told = judged(tmp_path, given, row, config, **options)
    assert found == outcome, told
    assert says in told


def test_a_dotted_option_is_read_and_the_variable_of_eplb_counts(tmp_path: Path) -> None:
    launch = replace(plan(**{"additional-config.eplb-config.dynamic-eplb": "true"}), stack=NEWEST)
    assert "DYNAMIC_EPLB" in said(judge(model(tmp_path), plan=launch), CHECK)
    assert launch.server
    with_variable = replace(launch, server=replace(launch.server, env={"DYNAMIC_EPLB": "true"}))
    assert findings(judge(model(tmp_path), plan=with_variable)) == {}


def test_vllm_omni_has_keys_of_its_own(tmp_path: Path) -> None:
    given = {"additional_config": '{"omni_stage": 1, "ascend_compilation_config": {"omni": 1}}'}
    launch = replace(plan(**given), stack=NEWEST, script="pip install vllm-omni\n")
    (result,) = judge(model(tmp_path), plan=launch).values()
    assert [finding.level.value for finding in result.findings] == ["warn", "fail"]


def test_each_release_that_has_the_option_is_catalogued() -> None:
    known = [each.vllm_ascend for each in additional_config.releases()]
    assert known == [
        row.vllm_ascend for row in stacks.rows() if not stacks.is_older(row.vllm_ascend, "0.9.0rc1")
    ]


def test_no_release_refuses_what_the_planner_writes(tmp_path: Path) -> None:
    keys = {name for fusions in models.WITHOUT_FUSIONS.values() for name in fusions}
    planned = {
        "ascend_compilation_config": dict.fromkeys(
            {*keys, "fuse_norm_quant", "enable_npugraph_ex"}, False
        )
    }
    for row in stacks.rows():
        found, told = judged(tmp_path, {**planned, "weight_nz_mode": 0}, row.vllm_ascend)
        older = stacks.is_older(
            row.vllm_ascend, "0.20.2rc1"
        )  # these read fewer keys, and refuse none of them
        assert found in ({None, "warn"} if older else {None}), told
