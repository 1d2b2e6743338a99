"""plan/supported-model: the release supports the model, by its own support matrix."""

from __future__ import annotations

from healthcheck.ascend.hardware import Family
from healthcheck.ascend.support_matrix import ALIBI, MATRIX, SOFT_CAP, Support, catalogue
from healthcheck.core.check import At, Findings, NotApplicable, note, warn
from healthcheck.stages.weights.documents import JsonObject, child, text_of, words
from healthcheck.stages.weights.records import WeightsFacts, check
from healthcheck.stages.weights.repairs import without_option
from healthcheck.text.messages import Message, msg

_OPTIONS = {
    "LoRA": "enable-lora",
    "Speculative Decoding": "speculative-config",
    "Tensor Parallel": "tensor-parallel-size",
    "Pipeline Parallel": "pipeline-parallel-size",
    "Expert Parallel": "enable-expert-parallel",
    "Data Parallel": "data-parallel-size",
    "Prefill-decode Disaggregation": "kv-transfer-config",
}
"""The features of the matrix that an option asks for."""
_HARDWARE = {Family.A2: "A2", Family.A3: "A3", Family.A5: "950", Family.P310: "300I"}
"""Words for the families in the matrix."""
_ROTARY_BAICHUAN = 4096
"""The hidden size of the Baichuan models with rotary embeddings; larger ones have ALiBi.

Source: BaichuanForCausalLM of vllm/model_executor/models/baichuan.py, 0.23.0.
"""
_GEMMA2_CAP = 50.0
_TRY = msg(
    "try it on an NPU, and compare the answers with a reference: npu-adapter numerics --reference"
)


@check(
    "plan/supported-model",
    msg("The release supports the model"),
    why=msg(
        "vllm-ascend starts some models that it does not support, and their answers are wrong or break off."
    ),
    requires=("weights/present", "weights/config"),
    by_row=True,
)
def plan_supported_model(facts: WeightsFacts) -> Findings:
    """Each release of vllm-ascend has a support matrix in its documents (`supported_models.md`). A model that it
    marks with ❌ is a warning, with the issue that the matrix names; so is an option for a feature that it marks
    with ❌ for the model on the chip of --npu. Of models that the kit does not recognise by config.json, the check
    says nothing.

    Two kinds of attention are accepted and not computed, by the source of the releases: ALiBi (Baichuan-13B, BLOOM,
    MPT) and the soft cap of Gemma-2. The server starts, and its answers differ from those of the model.

    To repair: choose a release that supports the model, or another model; or try it on an NPU.

    Example:
    ```json config.json
    {"architectures": ["Llama4ForConditionalGeneration"], "model_type": "llama4"}
    ```

    Use instead:

    ```json config.json
    {"architectures": ["LlamaForCausalLM"], "model_type": "llama"}
    ```
    """
    release, label = facts.row.vllm_ascend, facts.row.label()
    support = next((each for each in catalogue().releases if each.vllm_ascend == release), None)
    if support is None or not facts.engine.loading.as_vllm:
        raise NotApplicable(msg("no support matrix of {label} is known", label=label))
    config, at = facts.weights.text_config, At(facts.weights.config.name)
    architecture = next(iter(words(facts.weights.config.value.get("architectures"))), "")
    kind = " ".join(
        (text_of(config.get("model_type")), *words(config.get("architectures")))
    ).lower()
    models = catalogue().models(architecture, kind)
    for model, issue in support.unsupported.items():
        if model in models:
            expected = msg(
                "a model that the support matrix of {label} does not mark with ❌", label=label
            )
            seen = msg("{model}: ❌, issue {issue} of vllm-ascend", model=model, issue=issue or "?")
            yield at.warn(expected=expected, seen=seen, fix=_TRY, evidence={"source": MATRIX})
    for said in _not_computed(support, architecture, config):
        yield at.warn(
            expected=msg("attention that {label} computes", label=label), seen=said, fix=_TRY
        )
    yield from _lacking(support, models, facts)
    if facts.row.restricted_to:
        yield note(
            msg(
                "{label} is for {models} alone, by its notes",
                label=label,
                models=", ".join(facts.row.restricted_to),
            )
        )


def _not_computed(support: Support, architecture: str, config: JsonObject) -> list[Message]:
    said = []
    if ALIBI in support.not_computed and _has_alibi(architecture, config):
        said.append(
            msg(
                "ALiBi ({architecture}), which its attention takes and does not compute",
                architecture=architecture,
            )
        )
    cap = config.get(
        "attn_logit_softcapping", _GEMMA2_CAP if config.get("model_type") == "gemma2" else None
    )
    if SOFT_CAP in support.not_computed and cap:
        said.append(
            msg(
                "attn_logit_softcapping {cap}, which its attention takes and does not compute",
                cap=str(cap),
            )
        )
    return said


def _has_alibi(architecture: str, config: JsonObject) -> bool:
    large = architecture == "BaichuanForCausalLM" and config.get("hidden_size") != _ROTARY_BAICHUAN
    named = config.get("alibi") or child(config, "attn_config").get("alibi")
    return (
        bool(named)
        or large
        or architecture == "BloomForCausalLM"
        or config.get("position_embedding_type") == ALIBI
    )


def _lacking(support: Support, models: frozenset[str], facts: WeightsFacts) -> Findings:
    for lack in support.without:
        hardware = _HARDWARE.get(facts.chip.family, "")
        if lack.model not in models or not hardware or hardware not in lack.hardware:
            continue
        for feature in lack.features:
            option = _OPTIONS.get(feature)
            if option and facts.option(option) not in {None, "1"}:
                expected = msg(
                    "what the support matrix of {label} has for {model} on {hardware}",
                    label=facts.row.label(),
                    model=lack.model,
                    hardware=lack.hardware,
                )
                seen = msg(
                    "--{option}, and the matrix has ❌ for {feature}",
                    option=option,
                    feature=feature,
                )
                repair = without_option(facts, option)
                yield warn(
                    expected=expected,
                    seen=seen,
                    fix=repair.order,
                    where=repair.where,
                    edits=repair.edits,
                )
