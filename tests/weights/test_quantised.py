"""plan/fits-hardware of quantised weights: which release loads which method, and what describes the tensors."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from healthcheck.ascend import stacks
from tests.weights import folders
from tests.weights.folders import QWEN3, findings, model, plan, said

judge = partial(folders.judge, only="plan/fits-hardware")


def quantised(folder: Path, method: str, **config: object) -> Path:
    if method != "ascend":
        return model(folder, {**QWEN3, "quantization_config": {"quant_method": method}})
    model(folder, {**QWEN3, **config}, {"w": ("I8", (1000, 1000)), "n": ("BF16", (10,))})
    (folder / "quant_model_description.json").write_text(
        '{"model_quant_type": "W8A8", "w": "W8A8"}'
    )
    return folder


@pytest.mark.parametrize(
    ("row", "method", "options", "outcome"),
    [
        # read from the wheels: platform.py and quantization/ of each release
        ("0.23.0", "ascend", {}, None),
        ("0.18.0", "ascend", {}, None),
        ("0.17.0rc1", "ascend", {}, None),
        ("0.16.0rc1", "ascend", {}, "fail"),
        ("0.15.0rc1", "ascend", {}, None),
        ("0.13.0", "ascend", {}, "fail"),
        ("0.13.0", "ascend", {"quantization": "ascend"}, None),
        ("0.9.1", "ascend", {}, "fail"),
        ("0.11.0", "compressed-tensors", {}, "fail"),
        ("0.13.0", "compressed-tensors", {}, None),
        ("0.20.2rc1", "fp8", {}, "fail"),
        ("0.23.0", "fp8", {}, None),
        ("0.23.0", "mxfp8", {}, "fail"),
        (stacks.DEFAULT, "mxfp8", {}, "warn"),
        ("0.18.0", "awq", {}, "fail"),
        ("", "awq", {}, "fail"),
        ("", "ascend", {}, None),
    ],
)
def test_which_release_loads_quantised_weights(
    row: str, method: str, options: dict, outcome: str | None, tmp_path: Path
) -> None:
    launch = replace(plan(**options), stack=row)
    results = judge(quantised(tmp_path / "w", method), plan=launch, only="plan/fits-hardware")
    assert findings(results).get("plan/fits-hardware") == outcome, said(
        results, "plan/fits-hardware"
    )


def test_a_configuration_that_names_no_method_makes_older_releases_look(tmp_path: Path) -> None:
    folder = quantised(tmp_path / "w", "ascend", quantization_config={"group_size": 0})
    results = judge(folder, plan=replace(plan(), stack="0.13.0"), only="plan/fits-hardware")
    assert "plan/fits-hardware" not in findings(results)


def test_sglang_has_quantization_methods_of_its_own(tmp_path: Path) -> None:
    results = judge(
        quantised(tmp_path / "w", "awq"), plan=plan(engine="sglang"), only="plan/fits-hardware"
    )
    assert "plan/fits-hardware" not in findings(results)


@pytest.mark.parametrize("method", ["awq", "gptq", "bitsandbytes", "mxfp4"])
def test_a_quantization_that_no_release_of_vllm_ascend_loads(method: str, tmp_path: Path) -> None:
    folder = model(tmp_path / "w", {**QWEN3, "quantization_config": {"quant_method": method}})
    results = judge(folder, plan=plan())
    assert findings(results)["plan/fits-hardware"] == "fail"
    assert "no release up to" in said(results, "plan/fits-hardware")
    assert findings(judge(folder, plan=plan(engine="unknown")))["plan/fits-hardware"] == "warn"
    assert findings(judge(folder, npu="910B4"))["plan/fits-hardware"] == "fail"


@pytest.mark.parametrize(
    "suffix", ["qweight", "g_idx", "weight_packed", "weight_scale", "weight_offset", "deq_scale"]
)
def test_quantised_tensors_without_a_description(suffix: str, tmp_path: Path) -> None:
    tensors = {"model.layers.0.self_attn.q_proj." + suffix: ("BF16", (16, 8)), "n": ("BF16", (10,))}
    folder = model(tmp_path / "w", QWEN3, tensors)
    for launch in (plan(), plan(quantization="ascend")):
        results = judge(folder, plan=launch, only="plan/fits-hardware")
        assert findings(results) == {"plan/fits-hardware": "fail"}
        assert suffix in said(results, "plan/fits-hardware")
    described = model(
        tmp_path / "d",
        {**QWEN3, "quantization_config": {"quant_method": "compressed_tensors"}},
        tensors,
    )
    assert "plan/fits-hardware" not in findings(judge(described, plan=plan()))


def test_a_method_of_no_known_name_is_no_certain_failure(tmp_path: Path) -> None:
    for number, config in enumerate(
        ({"quant_method": "modelopt", "quant_algo": "MXFP8"}, {"bits": 4})
    ):
        folder = model(tmp_path / f"w{number}", {**QWEN3, "quantization_config": config})
        results = judge(folder, plan=plan(), only="plan/fits-hardware")
        assert findings(results) == {"plan/fits-hardware": "warn"}
        assert "no release" not in said(results, "plan/fits-hardware")
