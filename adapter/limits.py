"""What is not planned: models that answer no chat, models and combinations that a release serves wrongly or not."""

from __future__ import annotations

import re
from collections.abc import Iterator

from adapter.decision import Refusal
from adapter.device import Machine, release_of
from adapter.memory import Budget, Layout, weight_bytes
from adapter.weights import Weights

WITHOUT_CHAT = re.compile(
    r"(?:Bert|Camembert|Roberta|XLMRoberta|ModernBert|NomicBert|Gte|Whisper|CLIP|Siglip)\w*"
    r"|\w+For(?:SequenceClassification|TokenClassification|MaskedLM|SpeechSeq2Seq|\w*RewardModel)"
    r"|\w*(?:Embedding|Encoder|Reward)Model|(?:Llama|Mistral|Qwen2|Qwen3|Gemma\d?|Gemma3Text)Model"
)
LLAMA_4 = frozenset({"Llama4ForConditionalGeneration", "Llama4ForCausalLM"})
LAST_WITHOUT_LLAMA_4 = (0, 30)
"""The newest release whose support matrix was read; all up to it say that Llama 4 is not supported."""
COPIES_SLOTS_EARLY = frozenset({"DeepseekV4ForCausalLM", "DeepseekV41ForCausalLM"})
REPAIRED_IN = (0, 23, 0, 1, 1)
"""0.23.0.post1: before it, an idle copy of these writes into cache that others use (issues 15362, 15409, 15492)."""
WITHOUT_THE_REPAIR = {(0, 24), (0, 25)}
"""Releases of other branches: 0.25.1rc1 has the same lines, 0.26.0rc1 the repair."""
TIGHT_SHARE = 0.65
SHORT_CONTEXT = 8192


def refuse(weights: Weights, machine: Machine) -> None:
    """Refuse what cannot be served.

    Raises:
        Refusal: the model answers no chat, or this release of vllm-ascend does not run it.
    """
    name = weights.architecture or ""
    reason = f"a {name}" if WITHOUT_CHAT.fullmatch(name) else weights.pooled
    if reason:
        raise Refusal(
            f"the weights are {reason}: such a model answers no chat, and the service sends only those"
        )
    if machine.devices and name in LLAMA_4 and release_of(machine)[:2] <= LAST_WITHOUT_LLAMA_4:
        raise Refusal(
            "vllm-ascend does not run Llama 4 (its table of supported models, and issue 1972: error 507034): "
            "take another model"
        )


def one_copy(weights: Weights, machine: Machine) -> str:
    """Why several copies would change answers on this release; "" if they do not."""
    release = release_of(machine)
    spoils = release < REPAIRED_IN or release[:2] in WITHOUT_THE_REPAIR
    if weights.architecture in COPIES_SLOTS_EARLY and spoils:
        return "idle copies spoil the cache before 0.23.0.post1, and in 0.24 and 0.25"
    return ""


def remarks(
    weights: Weights, budget: Budget | None, layout: Layout, length: float
) -> Iterator[str]:
    """What is planned and will hardly do: weights that fill the devices, and a context that cuts answers off."""
    share = weight_bytes(weights, layout) / budget.torch_bytes if budget else 0
    if budget and share > TIGHT_SHARE:
        more = layout.tensor
        while share * layout.tensor / more > budget.weights_share:
            more *= 2
        yield f"the weights fill {share:.0%} of each device; recipes leave more room, which takes {more} devices"
    if budget and length < min(SHORT_CONTEXT, weights.context or 0):
        yield f"only {length:.0f} tokens fit, and longer answers are cut off: take more devices or a smaller model"
