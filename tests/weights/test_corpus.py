"""Weights folders as they come, each with the findings that it must have, and no others."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from healthcheck.core.records import Level, Outcome
from healthcheck.stages.weights.checks import CHECKS
from tests.weights.folders import (
    CHATML,
    OMNI,
    QWEN3,
    VISION,
    findings,
    judge,
    model,
    multimodal,
    plan,
    said,
    sharded,
)
from tests.weights.peculiar import (
    LFS,
    adapter,
    architecture,
    bare,
    below,
    broken_link,
    cache,
    card,
    code,
    cut,
    gguf,
    indexed,
    layers,
    linked,
    loops,
    mistral,
    modelslim,
    outside,
    pickled,
    pipeline,
    remove,
    sparse,
    template,
    text,
    unfinished,
)

SOUND: dict[str, str] = {}
QWEN2 = {**QWEN3, "model_type": "qwen2", "architectures": ["Qwen2ForCausalLM"]}
OWN = {"model_type": "x_own", "architectures": ["XForCausalLM"]}
FAIL, WARN = "fail", "warn"
CASES: dict[str, tuple[Callable[[Path], Path], dict[str, object], dict[str, str]]] = {
    "sound": (model, {}, SOUND),
    "sound, sharded with an index": (sharded, {}, SOUND),
    "sound, in the download cache": (cache, {}, SOUND),
    "sound, image-text-to-text": (lambda f: multimodal(f, VISION), {"task": "image-text-to-text"}, SOUND),
    "sound, any-to-any": (lambda f: multimodal(f, OMNI), {"task": "any-to-any"}, SOUND),
    "sound, a text task on multimodal weights": (lambda f: multimodal(f, VISION), {"task": "text-generation"}, SOUND),
    "sound, Mistral's own format": (mistral, {}, SOUND),
    "sound, GGUF for llama.cpp": (gguf, {"plan": plan(engine="llama.cpp")}, SOUND),
    "sound, list of chat templates": (
        lambda f: text(
            model(f), "tokenizer_config.json",
            json.dumps({"chat_template": [{"name": "tool_use", "template": "x"}, {"name": "default", "template": CHATML}]}),
        ), {}, SOUND,
    ),
    "sound, an index of pickles that were not downloaded": (
        lambda f: text(model(f), "pytorch_model.bin.index.json", '{"weight_map": {"a": "pytorch_model-00001.bin"}}'),
        {}, SOUND,
    ),
    "sound, a pickle beside safetensors": (
        lambda f: text(model(f), "pytorch_model.bin", b"\x80\x02}q\x00."), {}, SOUND,
    ),
    "sound, Infinity in config.json": (
        lambda f: text(model(f), "config.json", json.dumps({**QWEN3, "time_step_limit": [0.0, float("inf")]})), {}, SOUND,
    ),
    "sound, own code and the flag": (
        lambda f: text(code(f), "configuration_x.py", "class XConfig: ..."), {"plan": plan(trust_remote_code="")}, SOUND,
    ),
    "sound, the flag without code, as in the service's example": (model, {"plan": plan(trust_remote_code="")}, SOUND),
    "sound, a key that each release since 0.11.0 has": (
        model, {"plan": plan(additional_config='{"enable_cpu_binding": true}')}, SOUND,
    ),
    "a key of vllm-ascend 0.11.0": (
        model, {"plan": plan(additional_config='{"torchair_graph_config": {}}')}, {"plan/additional-config": WARN},
    ),
    "sound, exactly at the limit": (lambda f: sparse(f, 100 * 10**9), {"plan": plan(tensor_parallel_size="8")}, SOUND),
    "one byte above the limit": (
        lambda f: sparse(f, 100 * 10**9 + 1), {"plan": plan(tensor_parallel_size="8")}, {"weights/size-limit": FAIL},
    ),
    "101 GB and 200 GB allowed": (
        lambda f: sparse(f, 101 * 10**9), {"limit_bytes": 200 * 10**9, "plan": plan(tensor_parallel_size="8")}, SOUND,
    ),
    "101 GB on one device": (
        lambda f: sparse(f, 101 * 10**9), {}, {"weights/size-limit": FAIL, "plan/fits-hardware": WARN},
    ),
    "empty folder": (bare, {"task": "text-generation"}, {"weights/present": FAIL}),
    "weights in a subfolder": (
        lambda f: model(f / "inner").parent, {"task": "text-generation"}, {"weights/present": FAIL},
    ),
    "the cache's folder instead of the snapshot": (
        lambda f: cache(f).parent.parent, {"task": "text-generation"}, {"weights/present": FAIL},
    ),
    "an adapter alone": (
        adapter, {"task": "text-generation"}, {"weights/present": FAIL, "task/matches-weights": FAIL},
    ),
    "a diffusion pipeline": (pipeline, {"task": "text-generation"}, {"task/matches-weights": FAIL}),
    "a model type that nobody knows": (
        lambda f: model(f, {**QWEN3, "model_type": "qwen33"}), {}, {"weights/config": WARN},
    ),
    "a card that is no YAML": (
        lambda f: text(model(f), "README.md", "---\npipeline_tag: [\n---\n"), {}, {"task/supported": WARN},
    ),
    "only ONNX": (
        lambda f: text(remove(model(f), "model.safetensors"), "model.onnx", b"x"), {}, {"weights/present": FAIL},
    ),
    "GGUF for vLLM": (gguf, {"plan": plan()}, {"weights/config": FAIL}),
    "a shard is missing": (
        lambda f: remove(sharded(f), "model-00002-of-00003.safetensors"), {}, {"weights/complete": FAIL},
    ),
    "a shard is missing, no index": (
        lambda f: remove(sharded(f), "model-00002-of-00003.safetensors", "model.safetensors.index.json"),
        {}, {"weights/complete": FAIL},
    ),
    "a shard is cut off": (cut, {}, {"weights/complete": FAIL, "weights/safetensors": FAIL}),
    "a shard is empty": (
        lambda f: text(sharded(f), "model-00002-of-00003.safetensors", b""), {}, {"weights/complete": FAIL},
    ),
    "Git LFS pointers": (lambda f: text(model(f), "model.safetensors", LFS), {}, {"weights/complete": FAIL}),
    "an unfinished download": (unfinished, {}, {"weights/complete": FAIL}),
    "remains beside a whole model": (
        lambda f: text(model(f), "model.safetensors.part", b"x"), {}, {"weights/complete": WARN},
    ),
    "aria2 is not done": (
        lambda f: text(model(f), "model.safetensors.aria2", b"x"), {}, {"weights/complete": FAIL},
    ),
    "an index that leads out": (
        lambda f: indexed(f, lambda m: {**m, "x": "../../etc/passwd"}), {}, {"weights/complete": FAIL},
    ),
    "an index of another download": (
        lambda f: indexed(f, lambda m: {**m, "other": next(iter(m.values()))}), {}, {"weights/complete": FAIL},
    ),
    "an index that is not JSON": (
        lambda f: text(sharded(f), "model.safetensors.index.json", "{"), {}, {"weights/complete": FAIL},
    ),
    "a link out of the folder": (outside, {}, {"weights/complete": FAIL}),
    "links that loop": (loops, {}, {"weights/complete": WARN}),
    "a broken link in place of the tokenizer": (
        lambda f: broken_link(f, "tokenizer.json"), {}, {"weights/complete": FAIL, "weights/tokenizer": FAIL},
    ),
    "a broken file that the index does not name": (
        lambda f: text(sharded(f), "stray.safetensors", b"x" * 50), {}, {"weights/safetensors": WARN},
    ),
    "a web page as weights": (
        lambda f: text(model(f), "model.safetensors", "<!DOCTYPE html><html><body>404</body></html>"),
        {}, {"weights/safetensors": FAIL},
    ),
    "no config.json": (lambda f: remove(model(f), "config.json"), {"task": "text-generation"}, {"weights/config": FAIL}),
    "config.json cut off": (
        lambda f: text(model(f), "config.json", '{"architectures": ["Qwen3'), {"task": "text-generation"}, {"weights/config": FAIL},
    ),
    "config.json with a byte order mark": (
        lambda f: text(model(f), "config.json", b"\xef\xbb\xbf" + json.dumps(QWEN3).encode()),
        {"task": "text-generation"}, {"weights/config": FAIL},
    ),
    "config.json in UTF-16": (
        lambda f: text(model(f), "config.json", json.dumps(QWEN3).encode("utf-16")),
        {"task": "text-generation"}, {"weights/config": FAIL},
    ),
    "no architectures": (lambda f: model(f, {**QWEN3, "architectures": []}), {"task": "text-generation"}, {"weights/config": FAIL}),
    "an unknown architecture": (
        lambda f: model(f, architecture("Qwen33ForCausalLM")), {}, {"weights/config": WARN},
    ),
    "an override with an architecture that no vLLM has": (
        model, {"plan": plan(hf_overrides='{"architectures": ["Qwen3DenseForCausalLM"]}')}, {"weights/config": WARN},
    ),
    "an override in place of an architecture that no vLLM has": (
        lambda f: model(f, architecture("Qwen33ForCausalLM")), {"plan": plan(hf_overrides='{"architectures": ["Qwen3ForCausalLM"]}')}, {},
    ),
    "no tokenizer": (
        lambda f: remove(model(f), "tokenizer.json"), {}, {"weights/tokenizer": FAIL},
    ),
    "tokenizer.json broken": (lambda f: text(model(f), "tokenizer.json", "{}"), {}, {"weights/tokenizer": FAIL}),
    "sound, a tokenizer of bytes": (
        lambda f: text(
            model(f, QWEN2), "tokenizer.json", '{"model": {"type": "BPE"}, "decoder": {"type": "ByteLevel"}}',
        ), {}, SOUND,
    ),
    "a tokenizer of another kind than transformers makes for the model type": (
        lambda f: text(
            model(f, QWEN2), "tokenizer.json", '{"model": {"type": "BPE"}, "decoder": {"type": "Metaspace"}}',
        ), {}, {"weights/tokenizer": WARN},
    ),
    "no chat template": (lambda f: text(model(f), "tokenizer_config.json", "{}"), {}, {"weights/tokenizer": FAIL}),
    "a template that refuses a system message": (
        lambda f: template(f, "{% if messages[0].role == 'system' %}{{ raise_exception('no') }}{% endif %}" + CHATML),
        {}, {"weights/tokenizer": WARN},
    ),
    "a template with an error": (lambda f: template(f, "{% for m in %}"), {}, {"weights/tokenizer": FAIL}),
    "a template that drops the question": (
        lambda f: template(f, "{{ messages[0].content }}"), {}, {"weights/tokenizer": FAIL},
    ),
    "a template that drops the examples": (
        lambda f: template(f, "{{ messages[-1].content }}"), {}, {"weights/tokenizer": WARN},
    ),
    "a template for parts": (
        lambda f: template(
            f, "{% for m in messages %}{{ m.role }}{% for p in m.content %}{% if p.type == 'text' %}{{ p.text }}"
            "{% endif %}{% endfor %}{% endfor %}",
        ), {}, SOUND,
    ),
    "the text half of a vision model, without its processor": (
        lambda f: model(f, VISION), {}, {"weights/processor": WARN},
    ),
    "vision weights, everything but text switched off": (
        lambda f: model(f, VISION), {"plan": plan(limit_mm_per_prompt='{"image": 0, "video": 0}')}, SOUND,
    ),
    "layers that config.json has and the weights have not": (
        lambda f: model(f, tensors=layers(30)), {}, {"weights/matches-config": FAIL},
    ),
    "the configuration of a smaller model of the family": (
        lambda f: model(f, {**QWEN3, "hidden_size": 2560}, {
            "model.embed_tokens.weight": ("BF16", (151936, 4096)),
            "model.layers.0.input_layernorm.weight": ("BF16", (4096,)),
        }), {}, {"weights/matches-config": FAIL},
    ),
    "as many layers as config.json says, and a draft layer": (lambda f: model(f, tensors=layers(37)), {}, SOUND),
    "more tokens than config.json says": (
        lambda f: model(f, tensors={"model.embed_tokens.weight": ("BF16", (151940, 4096))}), {},
        {"weights/matches-config": FAIL},
    ),
    "the subfolder that deploy.sh serves": (below, {"plan": plan(model="/weights/checkpoint")}, SOUND),
    "the folder itself, written otherwise": (model, {"plan": plan(model="/weights/.")}, SOUND),
    "a link to the subfolder": (lambda f: linked(f, "checkpoint"), {"plan": plan(model="/weights/chat")}, SOUND),
    "a link to the folder itself": (
        lambda f: linked(f, "."), {"plan": plan(model="/weights/chat")}, {"weights/complete": WARN},
    ),
    "a link to a folder elsewhere": (
        lambda f: linked(f, "../elsewhere"), {"plan": plan(model="/weights/chat")}, {"weights/present": FAIL},
    ),
    "a file that deploy.sh serves": (
        model, {"plan": plan(model="/weights/config.json")}, {"weights/present": FAIL},
    ),
    "a subfolder that is not there": (model, {"plan": plan(model="/weights/chat")}, {"weights/present": FAIL}),
    "pickles": (pickled, {}, {"weights/pickle": WARN}),
    "a pickle that runs a command": (
        lambda f: pickled(f, b"cos\nsystem\n(S'echo hello'\ntR."), {}, {"weights/pickle": FAIL},
    ),
    "a torch file cut off": (
        lambda f: pickled(f, b"PK\x03\x04" + b"\0" * 5000), {}, {"weights/complete": FAIL, "weights/pickle": WARN},
    ),
    "own code, not allowed": (
        lambda f: text(code(f, **OWN), "configuration_x.py", ""), {"plan": plan()},
        {"weights/remote-code": FAIL, "weights/config": WARN},
    ),
    "own code that is not needed, not allowed": (
        lambda f: text(code(f), "configuration_x.py", ""), {"plan": plan()}, {"weights/remote-code": WARN},
    ),
    "own code, missing": (code, {"plan": plan(trust_remote_code="")}, {"weights/remote-code": FAIL}),
    "own code, an import missing": (
        lambda f: text(code(f), "configuration_x.py", "from .helpers_x import y"),
        {"plan": plan(trust_remote_code="")}, {"weights/remote-code": FAIL},
    ),
    "own code in another repository": (
        lambda f: code(f, auto_map={"AutoConfig": "org/repo--configuration_x.XConfig"}),
        {"plan": plan(trust_remote_code="")}, {"weights/remote-code": WARN},
    ),
    "an unknown task": (model, {"task": "text-classification"}, {"task/supported": FAIL}),
    "a task in the wrong spelling": (model, {"task": "Text Generation"}, {"task/supported": FAIL}),
    "the card names another task than --task": (
        lambda f: card(f, "text-generation"), {"task": "any-to-any"}, {"task/supported": WARN, "task/matches-weights": FAIL},
    ),
    "the card names an unsupported task": (lambda f: card(f, "translation"), {}, {"task/supported": FAIL}),
    "the card names another model's task": (
        lambda f: card(f, "image-text-to-text"), {}, {"task/matches-weights": FAIL},
    ),
    "an image task on text weights": (model, {"task": "image-text-to-text"}, {"task/matches-weights": FAIL}),
    "any-to-any on text weights": (model, {"task": "any-to-any"}, {"task/matches-weights": FAIL}),
    "an embedding model": (
        lambda f: text(
            model(f), "modules.json", '[{"type": "sentence_transformers.models.Pooling", "path": "1_Pooling"}]'
        ), {"task": "text-generation"}, {"task/matches-weights": FAIL},
    ),
    "a reward model": (
        lambda f: model(f, architecture("Qwen2ForRewardModel")), {"task": "text-generation"}, {"task/matches-weights": FAIL},
    ),
    "an encoder": (
        lambda f: model(f, {"architectures": ["BertForMaskedLM"], "model_type": "bert"}),
        {"task": "text-generation"}, {"weights/config": WARN, "task/matches-weights": FAIL},
    ),
    "speech recognition": (
        lambda f: model(f, {"architectures": ["WhisperForConditionalGeneration"], "model_type": "whisper"}),
        {"task": "text-generation"}, {"task/matches-weights": FAIL, "plan/supported-model": WARN},
    ),
    "a draft model": (
        lambda f: model(f, architecture("EagleLlamaForCausalLM")), {"task": "text-generation"}, {"task/matches-weights": FAIL},
    ),
    "devices out of order": (
        model, {"plan": plan(devices="1,0", tensor_parallel_size="2")}, {"plan/fits-hardware": FAIL},
    ),
    "devices that the service may not have": (
        model, {"plan": plan(devices="6,7", tensor_parallel_size="2")}, {"plan/fits-hardware": WARN},
    ),
    "devices beyond those that the author named": (
        model, {"plan": plan(devices="0,1,2,3"), "npus": 2}, {"plan/fits-hardware": FAIL},
    ),
    "the second of one device": (
        model, {"plan": plan(devices="1"), "npus": 1}, {"plan/fits-hardware": FAIL},
    ),
    "a device of thousands of digits": (model, {"plan": plan(devices="9" * 5_000)}, {"plan/fits-hardware": WARN}),
    "a layer of thousands of digits": (
        lambda f: model(f, tensors={**layers(36), f"model.layers.{'9' * 5_000}.w": ("BF16", (8,))}), {}, SOUND,
    ),
    "the first devices": (model, {"plan": plan(devices="0,1", tensor_parallel_size="2")}, SOUND),
    "heads that do not divide": (model, {"plan": plan(tensor_parallel_size="3")}, {"plan/fits-hardware": FAIL}),
    "bfloat16 on a 310P": (model, {"npu": "310P3", "npus": 1}, {"plan/fits-hardware": FAIL}),
    "float16 on a 310P": (model, {"npu": "310P3", "plan": plan(dtype="float16", max_model_len="4096")}, SOUND),
    "ModelSlim's W8A8": (modelslim, {}, SOUND),
    "ModelSlim's MXFP8, which only a 950 has": (
        lambda f: modelslim(f, "W8A8_MXFP8"), {"npu": "910B3"}, {"weights/quantization-scheme": FAIL},
    ),
    "experts in parallel on a 310P": (
        lambda f: model(f, {**QWEN3, "architectures": ["Qwen3MoeForCausalLM"], "num_experts": 128}),
        {"npu": "310P3-Duo", "npus": 2, "plan": plan(
            dtype="float16", max_model_len="4096", tensor_parallel_size="2", enable_expert_parallel="")},
        {"plan/options-suit-chip": FAIL},
    ),
    "a parser of another family's calls": (
        lambda f: model(f, {**QWEN3, "architectures": ["Glm4MoeForCausalLM"], "model_type": "glm4_moe"}),
        {"plan": plan(tool_call_parser="qwen3_coder")}, {"plan/parsers-fit": WARN},
    ),
    "a parser whose tokens the vocabulary lacks": (
        lambda f: text(model(f), "tokenizer.json", '{"model": {"type": "BPE", "vocab": {"a": 0, "</think>": 1}}}'),
        {"plan": plan(reasoning_parser="deepseek_r1")}, {"plan/parsers-fit": FAIL},
    ),
    "a parser whose tokens are in the vocabulary": (
        lambda f: template(f, CHATML + "{{ '<think>' }}"), {"plan": plan(reasoning_parser="deepseek_r1")}, SOUND,
    ),
    "the parser of its own calls": (model, {"plan": plan(tool_call_parser="hermes")}, SOUND),
    "experts in parallel on a dense model": (
        model, {"plan": plan(enable_expert_parallel="")}, {"plan/options-suit-weights": FAIL},
    ),
    "a pipeline partition of another model": (
        model, {"plan": plan(environment={"VLLM_PP_LAYER_PARTITION": "32,29"}, pipeline_parallel_size="2")},
        {"plan/layer-partition": FAIL},
    ),
    "its own pipeline partition": (
        model, {"plan": plan(environment={"VLLM_PP_LAYER_PARTITION": "20,16"}, pipeline_parallel_size="2")}, SOUND,
    ),
    "greedy by generation_config.json": (
        lambda f: text(model(f), "generation_config.json", '{"top_k": 1}'), {}, {"weights/sampling-defaults": WARN},
    ),
    "greedy by generation_config.json, which is not read": (
        lambda f: text(model(f), "generation_config.json", '{"top_k": 1}'), {"plan": plan(generation_config="vllm")}, SOUND,
    ),
    "answers are cut short": (
        model, {"plan": plan(override_generation_config='{"max_new_tokens": 256}')}, {"weights/sampling-defaults": WARN},
    ),
    "answers may be long": (
        lambda f: text(model(f), "generation_config.json", '{"max_new_tokens": 2048}'), {}, SOUND,
    ),
    "greedy by an option": (
        model, {"plan": plan(override_generation_config='{"top_k": 1}')}, {"weights/sampling-defaults": WARN},
    ),
    "greedy by a dotted option": (
        model, {"plan": plan(**{"override_generation_config.top_k": "1"})}, {"weights/sampling-defaults": WARN},
    ),
    "greedy defaults that an option corrects": (
        lambda f: text(model(f), "generation_config.json", '{"top_k": 1, "repetition_penalty": 1.1}'),
        {"plan": plan(override_generation_config='{"top_k": 20}')}, SOUND,
    ),
    "a strong penalty": (
        lambda f: text(model(f), "generation_config.json", '{"repetition_penalty": 1.5}'),
        {}, {"weights/sampling-defaults": WARN},
    ),
    "defaults of odd types": (
        lambda f: text(model(f), "generation_config.json", '{"top_k": [1], "repetition_penalty": null}'), {}, SOUND,
    ),
    "AWQ for plain weights": (model, {"plan": plan(quantization="awq")}, {"plan/fits-hardware": FAIL}),
    "AWQ": (lambda f: model(f, {**QWEN3, "quantization_config": {"quant_method": "awq"}}), {}, {"plan/fits-hardware": WARN}),
}  # fmt: skip


@pytest.mark.process
@pytest.mark.parametrize("name", CASES)
def test_findings_of(name: str, tmp_path: Path) -> None:
    make, facts, expected = CASES[name]
    folder = make(tmp_path / "weights")
    results = judge(folder, **facts)
    assert findings(results) == expected, {
        check: said(results, check) for check in findings(results)
    }
    for finding in (finding for result in results.values() for finding in result.findings):
        assert finding.seen
        assert finding.level is Level.NOTE or (finding.expected and finding.fix)


@pytest.mark.process
def test_each_check_fires_in_a_case_and_passes_on_sound_weights(tmp_path: Path) -> None:
    fired = {id_ for _, _, expected in CASES.values() for id_ in expected}
    sound = [(make, facts) for make, facts, expected in CASES.values() if expected == SOUND]
    found = [
        judge(make(tmp_path / str(number)), **facts) for number, (make, facts) in enumerate(sound)
    ]
    passed = {
        id_
        for results in found
        for id_, result in results.items()
        if result.outcome is Outcome.PASS
    }
    assert fired == passed == {check.id for check in CHECKS}


@pytest.mark.parametrize(
    ("size", "says"), [(100 * 10**9 + 1, True), (100 * 2**30, True), (100 * 2**30 + 1, False)]
)
def test_between_the_two_readings_of_the_limit_the_message_says_that_the_unit_is_not_documented(
    size: int, says: bool, tmp_path: Path
) -> None:
    results = judge(sparse(tmp_path / "w", size), only="weights/size-limit")
    assert results["weights/size-limit"].outcome.value == "fail"
    assert ("does not document which unit" in said(results, "weights/size-limit")) is says
    assert f"{size:,} bytes" in said(results, "weights/size-limit")


@pytest.mark.process
@pytest.mark.parametrize("spare", ["pytorch_model.bin", "checkpoint-100/model.safetensors"])
def test_what_can_go_is_named_where_that_would_do(spare: str, tmp_path: Path) -> None:
    folder = sparse(tmp_path / "w", 60 * 10**9)
    (folder / spare).parent.mkdir(exist_ok=True)
    with (folder / spare).open("wb") as file:
        file.truncate(60 * 10**9)
    assert f"delete what no engine loads here: {spare} | " in said(
        judge(folder), "weights/size-limit"
    )


@pytest.mark.process
def test_weights_of_which_all_are_loaded_are_to_be_made_smaller(tmp_path: Path) -> None:
    assert "quantize the weights" in said(
        judge(sparse(tmp_path / "w", 101 * 10**9)), "weights/size-limit"
    )
