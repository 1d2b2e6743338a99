"""plan/options-suit-chip: what each release makes of --attention-backend and --kv-cache-dtype."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from tests.weights import folders
from tests.weights.folders import QWEN3, findings, model, plan, said, write_json

CHECK = "plan/options-suit-chip"
judge = partial(folders.judge, only=CHECK)
MLA = {
    **QWEN3,
    "architectures": ["DeepseekV3ForCausalLM"],
    "model_type": "deepseek_v3",
    "kv_lora_rank": 512,
}
SPARSE = {
    **MLA,
    "architectures": ["DeepseekV32ForCausalLM"],
    "model_type": "deepseek_v32",
    "index_topk": 2048,
}
FP8, FP8_E5M2 = {"kv_cache_dtype": "fp8"}, {"kv_cache_dtype": "fp8_e5m2"}


@pytest.mark.parametrize(
    ("config", "options", "row", "npu", "outcome", "says"),
    [
        # vllm-ascend issue 8102: a Qwen3 on a 910B2
        (QWEN3, FP8, "0.18.0", "910B2", "fail", "ReshapeAndCacheOperation setup failed"),
        (QWEN3, FP8, "0.23.0", "910B3", "fail", "remove --kv-cache-dtype"),
        (QWEN3, FP8_E5M2, "0.23.0", "A3", "fail", "--kv-cache-dtype fp8_e5m2"),
        (QWEN3, FP8, "0.23.0", "310P3", "skip", "is not known"),
        (QWEN3, FP8, "0.23.0", "950PR", "skip", "is not known"),
        (MLA, FP8, "0.23.0", "910B3", "skip", "is not known"),
        # check_and_update_config of vllm_ascend/platform.py: the cache of such a model keeps the model's format
        (SPARSE, FP8, "0.23.0", "910B3", None, ""),
        # the same function of these releases: assert …supports(HardwareCapability.FP8_ATTENTION)
        (QWEN3, FP8, "0.30.0rc2", "910B3", "fail", "AssertionError"),
        (MLA, FP8, "0.29.0rc1", "910B3", "fail", "AssertionError"),
        # attention_v1.py of these releases: ValueError
        (QWEN3, FP8_E5M2, "0.30.0rc2", "910B3", "fail", "quantized weights are required"),
        (QWEN3, FP8, "0.30.0rc2", "950PR", "fail", "quantized weights are required"),
        (MLA, FP8, "0.30.0rc2", "950PR", "skip", "is not known"),
        *((QWEN3, {"kv_cache_dtype": plain}, "0.30.0rc2", "910B3", None, "") for plain in ("auto", "bfloat16")),
        (QWEN3, {"attention_backend": "FLASH_ATTN"}, "0.23.0", "910B3", "warn", "vllm-ascend 0.23.0 does not use it"),
        (QWEN3, {"attention_backend": "flashinfer"}, "0.30.0rc2", "910B3", "warn", "remove --attention-backend"),
        (QWEN3, {"attention_backend": "auto"}, "0.23.0", "910B3", None, ""),
        (QWEN3, {"attention_backend": "ASCEND"}, "0.23.0", "910B3", None, ""),  # plan/flags objects
    ],
)  # fmt: skip
def test_options_on(
    config: dict, options: dict, row: str, npu: str, outcome: str | None, says: str, tmp_path: Path
) -> None:
    results = judge(
        model(tmp_path / "w", config), plan=replace(plan(**options), stack=row), npu=npu
    )
    assert findings(results).get(CHECK) == outcome, said(results, CHECK)
    assert says in said(results, CHECK)


@pytest.mark.parametrize(
    ("dtype", "kind", "outcome"),
    [("int8", "C8", None), ("int8", "", "skip"), ("fp8_e5m2", "C8", "skip")],
)
def test_weights_may_bring_scales(
    dtype: str, kind: str, outcome: str | None, tmp_path: Path
) -> None:
    folder = model(tmp_path / "w")
    write_json(
        folder / "quant_model_description.json",
        {"model_quant_type": "W8A8_DYNAMIC", "kv_cache_type": kind},
    )
    results = judge(
        folder, plan=replace(plan(kv_cache_dtype=dtype), stack="0.30.0rc2"), npu="910B3"
    )
    assert findings(results).get(CHECK) == outcome, said(results, CHECK)


def test_flash_attention_may_be_asked_for_where_batches_do_not_count(tmp_path: Path) -> None:
    launch = plan(attention_backend="FLASH_ATTN")
    server = replace(launch.servers[0], env={"VLLM_BATCH_INVARIANT": "1"})
    results = judge(model(tmp_path / "w"), plan=replace(launch, server=server), npu="910B3")
    assert findings(results)[CHECK] == "skip"
    assert "flash_attn_npu_v3" in said(results, CHECK)


def test_the_line_of_adapter_toml_is_named(tmp_path: Path) -> None:
    launch = replace(plan(**FP8), settings='# a\nextra_args = ["--kv-cache-dtype", "fp8"]\n')
    results = judge(model(tmp_path / "w"), plan=launch, npu="910B3")
    assert "write extra_args = [] in adapter.toml:2 | adapter.toml:2" in said(results, CHECK)
