"""plan/fits-hardware: a block of the state cache for each sequence of a model with linear attention."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from healthcheck.stages.weights.facts import survey
from healthcheck.stages.weights.fit.memory import Layout, read_shape
from healthcheck.stages.weights.fit.states import bytes_per_state_block
from healthcheck.stages.weights.records import WeightsFacts
from tests.weights import folders
from tests.weights.folders import QWEN3, findings, model, plan, said
from tests.weights.test_chip_options import QWEN35_27B

CHECK = "plan/fits-hardware"
judge = partial(folders.judge, only=CHECK)
GIB, MIB = 2**30, 2**20
HEADS = {
    "linear_num_value_heads": 48, "linear_num_key_heads": 16, "linear_value_head_dim": 128,
    "linear_key_head_dim": 128, "linear_conv_kernel_dim": 4,
}  # fmt: skip
QWEN = {**QWEN35_27B, "text_config": {**QWEN35_27B["text_config"], **HEADS}}
TWO = {"tensor_parallel_size": "2", "max_model_len": "32768"}


def weights(folder: Path, gib: int, config: dict = QWEN) -> Path:
    file = model(folder, config) / "model.safetensors"
    folders.safetensors(file, {"model.embed_tokens.weight": ("BF16", (gib * GIB // 2,))})
    assert os.path.getsize(file) > gib * GIB
    return folder


def test_the_bytes_of_a_block(tmp_path: Path) -> None:
    """vLLM issue 49064 has 161 blocks in 3.86 GiB on two devices, with one state a page."""
    facts = WeightsFacts(uploaded=survey(model(tmp_path / "w", QWEN)), plan=plan())
    shape = read_shape(QWEN["text_config"])
    assert shape is not None
    block = bytes_per_state_block(facts, shape, Layout(tensor=2))
    state = 16 * 24 * 128 * 128 * 4
    assert block is not None
    assert int(3.86 * GIB) // (block - state) == 161


@pytest.mark.parametrize(
    ("gib", "options", "npu", "outcome", "says"),
    [
        # 54 GiB of weights on two devices of 61 GiB leave more than 500 blocks
        (54, TWO, "910B3", None, ""),
        (54, {**TWO, "max_num_seqs": "1024"}, "910B3", "fail", "max_num_seqs (1024) exceeds available Mamba cache blocks"),
        # without its 2 GiB of working memory, the device has room for 588
        (54, {**TWO, "max_num_seqs": "570"}, "910B3", "warn", "pass --max-num-seqs 512"),
        (54, {**TWO, "max_num_seqs": "1024", "enforce_eager": ""}, "910B3", None, ""),
        (54, {**TWO, "max_num_seqs": "1024", "compilation_config": '{"cudagraph_mode": "PIECEWISE"}'}, "910B3", None, ""),
        # W8A8 on one device of an Atlas 300I Duo, as foreign scripts have it, and with the recipe's number
        (30, {"dtype": "float16", "max_model_len": "8192"}, "310P3-Duo", "fail", "256 sequences, vLLM's default"),
        (30, {"dtype": "float16", "max_model_len": "8192", "max_num_seqs": "16"}, "310P3-Duo", None, ""),
        (54, {**TWO, "max_num_seqs": "1024"}, None, "warn", "on a 910"),
    ],
)  # fmt: skip
def test_sequences(
    gib: int, options: dict, npu: str | None, outcome: str | None, says: str, tmp_path: Path
) -> None:
    options = {"mamba_ssm_cache_dtype": "float16" if npu == "310P3-Duo" else "auto", **options}
    results = judge(weights(tmp_path / "w", gib), plan=plan(**options), npu=npu, npus=2)
    assert findings(results).get(CHECK) == outcome, said(results, CHECK)
    assert says in said(results, CHECK)


@pytest.mark.parametrize(
    ("config", "stack"), [(QWEN3, "0.23.0"), (QWEN35_27B, "0.23.0"), (QWEN, "0.30.0rc2")]
)
def test_what_is_not_known_is_not_judged(config: dict, stack: str, tmp_path: Path) -> None:
    launch = replace(plan(**TWO, max_num_seqs="100000"), stack=stack)
    results = judge(weights(tmp_path / "w", 30, config), plan=launch, npu="910B3", npus=2)
    assert "state cache" not in said(results, CHECK)
