"""Models whose weights have layers for multi-token prediction (MTP), with which a model drafts for itself."""

from __future__ import annotations

import re

from healthcheck import json_text
from healthcheck.errors import KitError
from healthcheck.weights.documents import JsonObject, integer, text_of, words
from healthcheck.weights.facts import Weights, WeightsFacts

OPTION = "speculative-config"
WITH_MTP = frozenset((
    "deepseek_v3", "deepseek_v32", "deepseek_v4", "ernie4_5_moe", "exaone4_5", "exaone_moe", "gemma4_assistant",
    "gemma4_unified_assistant", "glm_moe_dsa", "hy_v3", "intern_s2_preview", "longcat_flash", "nemotron_h",
    "nemotron_h_puzzle", "pangu_ultra_moe", "qwen3_5", "qwen3_5_moe", "qwen3_next", "step3p5", "step3p7",
    "Glm4MoeForCausalLM", "Glm4MoeLiteForCausalLM", "GlmOcrForConditionalGeneration", "MiMoForCausalLM",
    "MiMoV2FlashForCausalLM", "MiMoV2ForCausalLM", "MiMoV2OmniForCausalLM", "NemotronH_Super_Omni_Reasoning_V3",
    "Step3p5ForCausalLM", "Step3p7ForConditionalGeneration",
))  # fmt: skip
"""model_type or architecture. Source: SpeculativeConfig.hf_config_override (vllm/config/speculative.py), 0.23.0."""
WITH_MTP_LATER = frozenset((
    "bailing_hybrid", "deepseek_v41", "dots3_note", "glm5_next", "glm5_next_text", "hy_v4", "inkling_mm_model",
    "inkling_model", "interns2_mobius", "kimi_k3", "longcat_flash_ngram", "minimax_m3_vl", "qwen3_5_moe_text",
    "qwen3_5_text", "qwen4_exp", "qwen4_exp_text", "BailingMoeV2_5ForCausalLM", "BailingMoeV3ForCausalLM",
    "BailingMoeV3VLForConditionalGeneration", "MiniMaxM3SparseForConditionalGeneration",
    "NemotronH_Omni_Reasoning_V3",
))  # fmt: skip
"""Those that vLLM 0.29.0 to 0.32.0 and vllm-ascend 0.30.0rc2 add; which release was the first is not known here."""
_LAYER = re.compile(r"\.layers\.(\d{1,6})\.")
_OF_MTP = re.compile(r"mtp|nextn|(?:^|\.)(?:eh_proj|enorm|hnorm)\.", re.IGNORECASE)


def speculative(facts: WeightsFacts) -> JsonObject:
    """--speculative-config with its dotted keys; empty where it is absent or not JSON."""
    try:
        value = json_text.load((facts.option(OPTION) or "{}").encode())
    except KitError:
        value = {}
    config: JsonObject = {**value} if isinstance(value, dict) else {}
    for key in ("method", "model"):
        dotted = facts.option(f"{OPTION}.{key}")
        if dotted is not None:
            config[key] = dotted
    return config


def drafts_for_itself(facts: WeightsFacts, config: JsonObject) -> bool:
    """Whether the served model is its own draft model: an MTP method without another one."""
    model = text_of(config.get("model"))
    own = not model or (facts.plan is not None and model == facts.plan.model_path)
    return own and text_of(config.get("method")).endswith("mtp")


def names_of(weights: Weights) -> frozenset[str]:
    """What vLLM knows a model with MTP by: its type and its first architecture."""
    config = weights.config.value
    return frozenset((text_of(config.get("model_type")), *words(config.get("architectures"))[:1]))


def has_mtp_tensors(weights: Weights) -> bool:
    """Whether a file that is loaded has a tensor of an MTP layer; True where no header could be read."""
    names = [tensor.name for tensor in weights.tensors]
    layers = integer(weights.text_config.get("num_hidden_layers")) or 0
    beyond = (int(found[1]) >= layers for name in names if (found := _LAYER.search(name)))
    return not names or any(map(_OF_MTP.search, names)) or (layers > 0 and any(beyond))
