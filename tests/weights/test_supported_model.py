"""plan/supported-model: the support matrix of each release, and attention that is accepted and not computed."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from healthcheck.ascend import stacks
from healthcheck.ascend.support_matrix import catalogue
from tests.weights import folders
from tests.weights.folders import QWEN3, findings, model, plan, said

CHECK = "plan/supported-model"
judge = partial(folders.judge, only=CHECK)
FINAL, NEWEST = "0.23.0.post1", "0.30.0rc2"


def config(architecture: str, **more: object) -> dict[str, object]:
    return {"architectures": [architecture], "model_type": "some", **more}


INTERNVL = partial(config, "InternVLChatModel")
BAICHUAN = partial(config, "BaichuanForCausalLM")
PADDLE = config("PaddleOCRVLForConditionalGeneration")
TWO = {"tensor_parallel_size": "2"}


@pytest.mark.parametrize(
    ("config", "row", "outcome", "says"),
    [
        (config("Llama4ForConditionalGeneration"), FINAL, "warn", "issue 1972"),
        (config("Llama4ForConditionalGeneration"), NEWEST, "warn", "Llama4: ❌"),
        (config("Llama4ForConditionalGeneration"), "0.9.1", None, ""),
        (config("WhisperForConditionalGeneration"), FINAL, "warn", "issue 2262"),
        (config("GLM4VForCausalLM"), FINAL, "warn", "issue 2260"),
        (config("Glm4vForConditionalGeneration"), FINAL, None, ""),
        (config("KeyeForConditionalGeneration"), FINAL, "warn", "issue 1961"),
        (config("KeyeForConditionalGeneration"), "0.18.0", "warn", "issue 1963"),
        (config("Florence2ForConditionalGeneration"), FINAL, "warn", "issue 2259"),
        (config("Glm4ForCausalLM"), "0.13.0", "warn", "issue 2258"),
        (config("Glm4ForCausalLM"), "0.18.0", None, ""),
        # InternVL3.5 has the architecture of InternVL2.5 and 3.0, and is in vllm-ascend's own tests
        (INTERNVL(llm_config={"architectures": ["Qwen2ForCausalLM"], "model_type": "qwen2"}), FINAL, "warn", "2064"),
        (INTERNVL(llm_config={"architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3"}), FINAL, None, ""),
        (QWEN3, FINAL, None, ""),
        (BAICHUAN(hidden_size=5120), FINAL, "warn", "ALiBi (BaichuanForCausalLM)"),
        (BAICHUAN(hidden_size=4096), FINAL, None, ""),
        (config("BloomForCausalLM"), NEWEST, "warn", "ALiBi"),
        (config("MPTForCausalLM", attn_config={"alibi": True}), FINAL, "warn", "ALiBi"),
        (config("MPTForCausalLM", attn_config={"alibi": False}), FINAL, None, ""),
        (config("FalconForCausalLM", alibi=True), FINAL, "warn", "ALiBi"),
        ({"architectures": ["Gemma2ForCausalLM"], "model_type": "gemma2"}, FINAL, "warn", "attn_logit_softcapping 50.0"),
        (config("Gemma3ForCausalLM", attn_logit_softcapping=None), FINAL, None, ""),
    ],
)  # fmt: skip
def test_models_of_a_release(
    config: dict, row: str, outcome: str | None, says: str, tmp_path: Path
) -> None:
    results = judge(model(tmp_path, config), plan=replace(plan(), stack=row))
    assert findings(results).get(CHECK) == outcome, said(results, CHECK)
    assert says in said(results, CHECK)


@pytest.mark.parametrize(
    ("options", "npu", "outcome"),
    [
        (TWO, "310P3-Duo", "warn"),
        ({"tensor_parallel_size": "1"}, "310P3-Duo", None),
        (TWO, "910B3", None),
        ({"speculative_config": "{}"}, "310P3", "warn"),
    ],
)
def test_features_that_a_model_lacks_on_a_chip(
    options: dict, npu: str, outcome: str | None, tmp_path: Path
) -> None:
    results = judge(
        model(tmp_path, PADDLE), plan=replace(plan(**options), stack=FINAL), npu=npu, npus=2
    )
    assert findings(results).get(CHECK) == outcome, said(results, CHECK)


def test_a_candidate_for_some_models_says_so(tmp_path: Path) -> None:
    results = judge(model(tmp_path), plan=replace(plan(), stack="0.26.0rc1"))
    assert findings(results) == {}
    assert "vllm-ascend 0.26.0rc1 is for Kimi K3, GLM-5.2" in said(results, CHECK)


@pytest.mark.parametrize("release", [row.vllm_ascend for row in stacks.rows()])
def test_each_row_has_its_matrix_and_each_model_of_it_a_name(release: str) -> None:
    (support,) = [each for each in catalogue().releases if each.vllm_ascend == release]
    named = {*support.unsupported, *support.untested, *(each.model for each in support.without)}
    assert named <= set(catalogue().names)
