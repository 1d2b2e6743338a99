"""plan/options-suit-weights, and --quantization on plain weights: what vLLM refuses while it builds its configuration.

Each refusal was seen with vLLM 0.23.0 and vllm-ascend 0.23.0 (an engine's own configuration), or read in the release's source.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.weights.folders import QWEN3, findings, judge, model, plan, said
from tests.weights.peculiar import mistral, modelslim

CHECK, FITS = "plan/options-suit-weights", "plan/fits-hardware"
MOE = {
    **QWEN3,
    "model_type": "qwen3_moe",
    "architectures": ["Qwen3MoeForCausalLM"],
    "num_experts": 128,
}
NEXT = {
    **QWEN3,
    "model_type": "qwen3_next",
    "architectures": ["Qwen3NextForCausalLM"],
    "num_experts": 512,
}
DEEPSEEK = {
    **QWEN3,
    "model_type": "deepseek_v3",
    "architectures": ["DeepseekV3ForCausalLM"],
    "num_hidden_layers": 4,
}
MTP = {"mtp.fc.weight": ("BF16", (8, 8))}
FOURTH = {"model.layers.3.w": ("BF16", (8,)), "model.layers.4.eh_proj.weight": ("BF16", (8,))}


def overriding(**config: object) -> dict[str, str]:
    return {"hf_overrides": json.dumps(config)}


def with_theta(folder: Path) -> Path:
    return model(folder, {**QWEN3, "rope_theta": 1000000})


def speculative(**config: object) -> dict[str, str]:
    return {"speculative_config": json.dumps({"num_speculative_tokens": 1, **config})}


@pytest.mark.parametrize(
    ("make", "options", "outcome", "says"),
    [
        (model, {"enable_expert_parallel": ""}, "fail", '"model_type": "qwen3"'),
        (lambda f: model(f, MOE), {"enable_expert_parallel": ""}, None, ""),
        (lambda f: model(f, {**QWEN3, "model_type": "mixtral"}), {"enable_expert_parallel": ""}, None, ""),
        (lambda f: model(f, {**QWEN3, "text_config": {"n_routed_experts": 64}}), {"enable_expert_parallel": ""}, None, ""),
        (lambda f: model(f, {**QWEN3, "auto_map": {"AutoConfig": "c.C"}}), {"enable_expert_parallel": ""}, None, ""),
        (model, {"enable_expert_parallel": "", "hf_overrides": '{"num_experts": 8}'}, None, ""),
        (with_theta, overriding(rope_scaling={"rope_type": "linear"}), "warn", '{"rope_type": "linear", "rope_theta": 1000000}'),
        (with_theta, overriding(rope_parameters={"factor": 2}), "warn", "1000000 of config.json is lost"),
        (with_theta, overriding(text_config={"rope_parameters": {"factor": 2}}), "warn", '{"text_config": {"rope_parameters": {"factor": 2, "rope_theta": 1000000}}}'),
        (with_theta, overriding(rope_parameters={"type": "yarn", "rope_theta": 5}), "fail", '"original_max_position_embeddings": 40960'),
        (model, {"enable_expert_parallel": "", "hf_overrides": "<unresolved:by a function>"}, None, ""),
        (model, {"enable_expert_parallel": "", "hf_overrides.num_experts": "8"}, None, ""),
        (with_theta, overriding(rope_parameters={"factor": 2, "rope_theta": 5}), None, ""),
        (with_theta, overriding(rope_parameters={"full_attention": {"factor": 2}}), None, ""),
        (model, overriding(rope_parameters={"factor": 2}), None, ""),
        (model, {"config_format": "mistral"}, "fail", "params.json"),
        (model, {"load_format": "mistral"}, "fail", "consolidated"),
        (mistral, {"config_format": "mistral", "load_format": "mistral", "tokenizer_mode": "mistral"}, None, ""),
        (model, {"config_format": "hf", "load_format": "safetensors"}, None, ""),
        (model, speculative(method="qwen3_5_mtp"), "fail", "NotImplementedError"),
        (model, speculative(method="mtp", model="/weights"), "fail", "NotImplementedError"),
        (model, {"speculative_config.method": "deepseek_mtp"}, "fail", "NotImplementedError"),
        (model, speculative(method="mtp", model="/weights/draft"), None, ""),
        (model, speculative(method="ngram"), None, ""),
        (model, {"speculative_config": "{"}, None, ""),
        (lambda f: model(f, NEXT, MTP), speculative(method="qwen3_next_mtp"), None, ""),
        (lambda f: model(f, NEXT), speculative(method="qwen3_next_mtp"), "warn", "none in the safetensors files"),
        (lambda f: model(f, DEEPSEEK, FOURTH), speculative(method="mtp"), None, ""),
        (lambda f: model(f, {**QWEN3, "architectures": ["MiMoForCausalLM"]}, MTP), speculative(method="mtp"), None, ""),
    ],
)  # fmt: skip
def test_what_the_weights_lack(
    make: Callable[[Path], Path], options: dict, outcome: str | None, says: str, tmp_path: Path
) -> None:
    results = judge(make(tmp_path / "w"), CHECK, plan=plan(**options))
    assert findings(results).get(CHECK) == outcome, said(results, CHECK)
    assert says in said(results, CHECK)


@pytest.mark.parametrize(
    ("file", "options", "new", "old"),
    [
        ("", {}, "fail", "fail"),
        ("tekken.json", {}, None, None),
        ("tokenizer.model.v3", {}, None, None),
        ("tokenizer.model.v7m1", {}, None, None),
        ("tokenizer.model", {}, None, "fail"),
        ("tokenizer.mm.model.v1", {}, "fail", None),
        ("original/tekken.json", {}, "fail", "fail"),
        ("", {"tokenizer": "/weights"}, "fail", "fail"),
        ("", {"tokenizer": "/elsewhere"}, None, None),
        ("", {"skip_tokenizer_init": ""}, None, None),
    ],
)
def test_the_tokenizer_of_mistral(
    file: str, options: dict, new: str | None, old: str | None, tmp_path: Path
) -> None:
    folder = model(tmp_path / "w")
    if file:
        (folder / file).parent.mkdir(exist_ok=True)
        (folder / file).write_text("{}")
    launch = plan(tokenizer_mode="mistral", **options)
    for row, outcome in (("", new), ("0.30.0rc2", new), ("0.11.0", old)):
        results = judge(folder, CHECK, plan=replace(launch, stack=row))
        assert findings(results).get(CHECK) == outcome, (row, said(results, CHECK))


def test_a_model_whose_mtp_a_later_release_has(tmp_path: Path) -> None:
    folder = model(tmp_path / "w", {**QWEN3, "model_type": "qwen3_5_text"}, MTP)
    outcomes = {
        row: findings(
            judge(folder, CHECK, plan=replace(plan(**speculative(method="mtp")), stack=row))
        ).get(CHECK)
        for row in ("", "0.20.2rc1", "0.30.0rc2")
    }
    assert outcomes == {"": "warn", "0.20.2rc1": "fail", "0.30.0rc2": None}


@pytest.mark.process
def test_the_repair_names_the_key_of_adapter_toml(tmp_path: Path) -> None:
    launch = replace(
        plan(enable_expert_parallel=""), settings="a = 1\nenable_expert_parallel = true\n"
    )
    assert "remove enable_expert_parallel from adapter.toml:2" in said(
        judge(model(tmp_path / "w"), plan=launch), CHECK
    )


@pytest.mark.parametrize(
    ("row", "method", "outcome"),
    [
        ("", "awq", "fail"),
        ("", "gptq", "fail"),
        ("", "bitsandbytes", "fail"),
        ("", "fp8", "fail"),
        ("", "compressed-tensors", "fail"),
        ("", "modelopt_mxfp8", "warn"),
        ("0.20.2rc1", "fp8", "fail"),
        ("0.30.0rc2", "awq", "fail"),
        ("0.30.0rc2", "mxfp8", "warn"),
    ],
)
def test_a_method_for_weights_that_are_not_quantised(
    row: str, method: str, outcome: str, tmp_path: Path
) -> None:
    launch = replace(plan(quantization=method), stack=row)
    results = judge(model(tmp_path / "w"), FITS, plan=launch)
    assert findings(results).get(FITS) == outcome, said(results, FITS)
    assert f"--quantization {method}" in said(results, FITS)
    assert "remove --quantization" in said(results, FITS)


@pytest.mark.parametrize(("flag", "outcome"), [("fp8", "fail"), ("compressed-tensors", None)])
def test_a_method_that_config_json_contradicts(
    flag: str, outcome: str | None, tmp_path: Path
) -> None:
    folder = model(
        tmp_path / "w", {**QWEN3, "quantization_config": {"quant_method": "compressed-tensors"}}
    )
    assert findings(judge(folder, FITS, plan=plan(quantization=flag))).get(FITS) == outcome


def test_modelslim_weights_beside_another_method(tmp_path: Path) -> None:
    results = judge(modelslim(tmp_path / "w"), FITS, plan=plan(quantization="fp8"))
    assert findings(results).get(FITS) == "warn"
