"""weights/processor: a model for images or audio has the files of its processor."""

from __future__ import annotations

from healthcheck.core.check import At, Findings, NotApplicable
from healthcheck.stages.weights.documents import text_of
from healthcheck.stages.weights.known_models import known_models
from healthcheck.stages.weights.records import WeightsFacts, check
from healthcheck.stages.weights.tokenizer import PROCESSOR_FILES
from healthcheck.system import json_text
from healthcheck.text.messages import joined, msg


@check(
    "weights/processor",
    msg("A model that takes images or audio has its processor"),
    why=msg(
        "The engine prepares images and audio with the model's processor, and does not start without one."
    ),
    requires=("weights/config",),
)
def processor(facts: WeightsFacts) -> Findings:
    """A model that takes images or audio comes with a processor: preprocessor_config.json, or processor_config.json
    as newer releases of transformers write it. vLLM loads it at the start, even if only text is sent.

    Training often saves the model and the tokenizer but not the processor. A missing one warns, since some models
    have their own processor: the launch settles it.

    To repair: copy the file from the model that was trained, or save it with processor.save_pretrained(folder).

    Example:
    ```json config.json
    {"architectures": ["Qwen2_5_VLForConditionalGeneration"], "model_type": "qwen2_5_vl"}
    ```

    ```text files
    config.json
    model.safetensors
    tokenizer.json
    tokenizer_config.json
    ```

    Use instead:

    ```text files
    config.json
    model.safetensors
    preprocessor_config.json
    tokenizer.json
    tokenizer_config.json
    ```
    """
    weights = facts.weights
    model_type = text_of(weights.config.value.get("model_type"))
    if model_type not in known_models().with_processor:
        raise NotApplicable(
            msg("the model takes text alone, or brings its own way to prepare the rest")
        )
    if _text_alone(facts) or not facts.engine.loading.by_architecture:
        raise NotApplicable(
            msg("deploy.sh switches everything but text off, or the engine has its own way")
        )
    if weights.consolidated or weights.tokenizer.processor:
        return
    expected = msg(
        "{processor_files}, as {model_type} models have it",
        processor_files=joined(" or ", PROCESSOR_FILES),
        model_type=model_type,
    )
    fix = msg(
        "copy preprocessor_config.json from the original model, or save it with processor.save_pretrained"
    )
    yield At("config.json").warn(expected=expected, seen=msg("neither is in the folder"), fix=fix)


def _text_alone(facts: WeightsFacts) -> bool:
    if facts.option("language-model-only") is not None:
        return True
    try:
        limits = json_text.load(facts.option("limit-mm-per-prompt") or "null")
    except json_text.JsonError:
        return False
    return isinstance(limits, dict) and bool(limits) and not any(limits.values())
