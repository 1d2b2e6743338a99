"""task/matches-weights: these weights can do the task."""

from __future__ import annotations

from healthcheck import contract
from healthcheck.core.check import At, Findings, NotApplicable, fail, note, warn
from healthcheck.stages.weights.folder import shown
from healthcheck.stages.weights.nature import Family
from healthcheck.stages.weights.records import WeightsFacts, check
from healthcheck.stages.weights.task import task_of, usual_task
from healthcheck.text.messages import joined, mapped, msg

NOT_GENERATING_TAGS = {
    "feature-extraction", "sentence-similarity", "text-ranking", "fill-mask", "text-classification",
    "token-classification", "zero-shot-classification", "automatic-speech-recognition", "text-to-speech",
    "text-to-image", "image-classification", "object-detection", "visual-document-retrieval",
}  # fmt: skip
_SAID = {"audio": msg("audio"), "image": msg("image"), "text": msg("text")}


@check(
    "task/matches-weights",
    msg("The weights can do the task"),
    rule=contract.TASK_TYPES,
    why=msg(
        "The service sends the task's chat requests; a model of another kind answers none of them."
    ),
)
def task_matches_weights(facts: WeightsFacts) -> Findings:
    """All tasks use {chat_path}, so the model must generate text. That is enough for
    text-generation; image-text-to-text needs a model that takes images, and any-to-any a model that takes or makes
    more than text, such as Qwen2.5-Omni.

    The kit reads a model's abilities from config.json: its architecture, and its sub-models (vision_config,
    audio_config, thinker_config …). Embedding, reward, ranking and classification models, encoders, diffusion
    pipelines and speech recognition have no chat completions, whatever the task code says.

    To repair: choose the task that the weights are for, or the weights that the task needs.

    Example:
    ```json config.json
    {"architectures": ["Qwen3ForSequenceClassification"], "model_type": "qwen3"}
    ```

    Use instead:

    ```json config.json
    {"architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3"}
    ```
    """
    nature = facts.nature()
    if nature.family is Family.UNKNOWN:
        raise NotApplicable(
            msg("the kind of the model is unknown: {because}", because=nature.because)
        )
    if nature.family is not Family.GENERATES:
        expected = msg("a model that answers chat completions")
        seen = msg(
            "{value} ({because})", value=nature.family.value, because=mapped(nature.because, shown)
        )
        yield At("config.json").fail(
            expected=expected, seen=seen, fix=msg("submit the weights of a chat model")
        )
        return
    yield from _card(facts)
    code, source = task_of(facts)
    if code in contract.TASKS:
        yield from _against(contract.Task(code), source, facts)


def _card(facts: WeightsFacts) -> Findings:
    """Warn if the weights' model card names a task other than chat."""
    card = facts.weights.card
    if card.task in NOT_GENERATING_TAGS:
        seen = msg(
            "{task_key}: {task}, though the architecture generates text",
            task_key=card.task_key,
            task=card.task,
        )
        fix = msg(
            "check that these are the weights that you mean: ranking models may keep the architecture"
        )
        yield At("README.md").warn(expected=msg("a model card of a chat model"), seen=seen, fix=fix)


def _against(task: contract.Task, source: str, facts: WeightsFacts) -> Findings:
    nature = facts.nature()
    takes, makes = (
        joined(" and ", (_SAID[each] for each in sorted(kinds)))
        for kinds in (nature.takes, nature.makes)
    )
    seen = msg(
        "{because}: takes {takes}, makes {makes}",
        because=mapped(nature.because, shown),
        takes=takes,
        makes=makes,
    )
    if task is contract.Task.TEXT_GENERATION:
        if nature.takes != {"text"}:
            yield note(msg("{seen}; text-generation uses only a part of that", seen=seen))
        return
    suggested, only_text = usual_task(nature).value, nature.takes == nature.makes == {"text"}
    misfit, wanted = only_text, msg("takes or makes more than text")
    if task is contract.Task.IMAGE_TEXT_TO_TEXT:
        misfit, wanted = "image" not in nature.takes, msg("takes images")
    if misfit:
        certain = nature.sure or (
            nature.takes == {"text"} and not facts.weights.tokenizer.processor
        )
        report = fail if certain else warn
        expected = msg(
            "{value} ({source}) needs a model that {wanted}",
            value=task.value,
            source=source,
            wanted=wanted,
        )
        fix = msg("use the task {suggested}, or other weights", suggested=suggested)
        yield report(expected=expected, seen=seen, fix=fix, where="config.json")
    elif task is contract.Task.ANY_TO_ANY and suggested == contract.Task.IMAGE_TEXT_TO_TEXT.value:
        yield note(msg("{seen}; its usual task code is image-text-to-text", seen=seen))
