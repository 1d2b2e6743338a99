"""What the planner does not plan, and what it says of a plan that will hardly do."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from adapter.decision import Refusal
from adapter.device import Machine, release_of
from adapter.plan import make_plan
from adapter.weights import Attention, Weights, read_weights

A2 = Machine(8, "910B3", 65536, "test", release="0.23.0")
ONE = replace(A2, devices=1)
QWEN3 = Weights(
    path="/w", architecture="Qwen3ForCausalLM", dtype="bfloat16", context=40960, total_bytes=16 * 10**9,
    attention=Attention(layers=36, heads=32, kv_heads=8, head_dim=128),
)  # fmt: skip
GEMMA_27B = replace(
    QWEN3, architecture="Gemma3ForConditionalGeneration", context=131072, total_bytes=54 * 10**9,
    attention=Attention(layers=62, heads=32, kv_heads=16, head_dim=128),
)  # fmt: skip
ERNIE = replace(
    QWEN3, architecture="Ernie4_5_MoeForCausalLM", total_bytes=43 * 10**9, experts=64, expert_bytes=38 * 10**9,
    attention=Attention(layers=28, heads=20, kv_heads=4, head_dim=128),
)  # fmt: skip
V4 = replace(
    QWEN3,
    architecture="DeepseekV4ForCausalLM",
    total_bytes=60 * 10**9,
    experts=256,
    expert_bytes=50 * 10**9,
)


def chosen(weights, machine):
    plan = make_plan(weights, machine, {})
    return {decision.key: decision.value for decision in plan.options}


def written(folder, architecture, **files):
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(json.dumps({"architectures": [architecture]}))
    for name, text in files.items():
        (folder / f"{name}.json").write_text(text)
    return read_weights(folder)


@pytest.mark.parametrize(
    "architecture",
    [
        "XLMRobertaModel",
        "BertForSequenceClassification",
        "WhisperForConditionalGeneration",
        "Qwen2ForRewardModel",
    ],
)
def test_a_model_without_a_chat_gets_a_sentence_and_no_plan(architecture):
    with pytest.raises(Refusal, match=f"{architecture}: such a model answers no chat"):
        make_plan(replace(QWEN3, architecture=architecture), A2, {})


@pytest.mark.parametrize(
    "architecture",
    [
        "InternVLChatModel",
        "ChatGLMModel",
        "GPT2LMHeadModel",
        "QWenLMHeadModel",
        "MiniCPMV",
        "",
        None,
    ],
)
def test_a_chat_model_of_an_unusual_name_is_planned(architecture):
    assert make_plan(replace(QWEN3, architecture=architecture), A2, {}).options


def test_an_embedding_model_with_a_class_of_chat_models_is_known_by_modules_json(tmp_path):
    pooling = json.dumps([{"idx": 1, "type": "sentence_transformers.models.Pooling"}])
    weights = written(tmp_path / "w", "Qwen3ForCausalLM", modules=pooling)
    with pytest.raises(Refusal, match=r"embedding model \(modules.json\)"):
        make_plan(weights, A2, {})
    assert not written(tmp_path / "chat", "Qwen3ForCausalLM", modules="[]").pooled


def test_a_reranker_with_a_class_of_chat_models_is_known_by_its_name(tmp_path):
    with pytest.raises(Refusal, match="reranker"):
        make_plan(written(tmp_path / "Qwen3-Reranker-0.6B", "Qwen3ForCausalLM"), A2, {})


@pytest.mark.parametrize(
    ("release", "refused"), [("0.23.0", True), ("0.30.0rc2", True), ("", True), ("0.31.0", False)]
)
def test_llama_4_is_refused_for_the_releases_that_do_not_run_it(release, refused):
    weights = replace(QWEN3, architecture="Llama4ForConditionalGeneration")
    machine = replace(A2, release=release)
    if refused:
        with pytest.raises(Refusal, match="Llama 4"):
            make_plan(weights, machine, {})
    else:
        assert make_plan(weights, machine, {}).options


def test_ernie_uses_every_device():
    planned = chosen(ERNIE, A2)
    assert planned["tensor_parallel_size"] * planned["data_parallel_size"] == A2.devices


@pytest.mark.parametrize(
    ("release", "copies"), [("0.23.0", None), ("0.23.0.post1", 2), ("", None), ("0.26.0rc1", 2)]
)
def test_attention_that_copies_slots_early_has_copies_only_where_that_is_repaired(release, copies):
    assert chosen(V4, replace(A2, release=release))["data_parallel_size"] == copies


def test_a_context_that_cuts_answers_off_and_full_devices_are_remarked():
    remarks = make_plan(GEMMA_27B, ONE, {}).remarks
    assert any("longer answers are cut off" in remark for remark in remarks)
    assert any("which takes 2 devices" in remark for remark in remarks)
    assert make_plan(GEMMA_27B, A2, {}).remarks == ()
    assert make_plan(QWEN3, ONE, {}).remarks == ()


def test_a_27b_that_fills_one_310p_is_remarked():
    quantised = replace(
        GEMMA_27B, architecture="Qwen3_5ForConditionalGeneration", total_bytes=34 * 10**9
    )
    one = Machine(1, "310P3-Duo", 44280, "test", release="0.23.0")
    assert any(
        "which takes 4 devices" in remark for remark in make_plan(quantised, one, {}).remarks
    )
    assert chosen(quantised, replace(one, devices=4))["tensor_parallel_size"] == 4


def test_releases_have_an_order():
    names = ["", "0.21.0rc1", "0.23.0rc1", "0.23.0", "0.23.0.post1", "0.24.0rc1", "0.30.0"]
    orders = [release_of(replace(A2, release=name)) for name in names]
    assert orders == sorted(orders)
    assert len(set(orders)) == len(names)
