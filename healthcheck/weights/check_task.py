"""Checks of the task: one that the service evaluates, and one that these weights can do."""

from __future__ import annotations

import difflib

from healthcheck import contract
from healthcheck.check import Findings, NotApplicable, check, fail, note, unsettled, warn
from healthcheck.records import Stage
from healthcheck.weights.facts import WeightsFacts
from healthcheck.weights.folder import shown
from healthcheck.weights.nature import Family, Nature

CODES = tuple(task.value for task in contract.Task)
NOT_GENERATING_TAGS = {
    "feature-extraction", "sentence-similarity", "text-ranking", "fill-mask", "text-classification",
    "token-classification", "zero-shot-classification", "automatic-speech-recognition", "text-to-speech",
    "text-to-image", "image-classification", "object-detection", "visual-document-retrieval",
}  # fmt: skip


def task_of(facts: WeightsFacts) -> tuple[str, str]:
    """The task code and where it was found: given, the weights' card, the repository's card, the architecture."""
    if facts.task is not None:
        return (facts.task.value if isinstance(facts.task, contract.Task) else facts.task), "--task"
    if facts.weights.card.pipeline_tag:
        return facts.weights.card.pipeline_tag, "pipeline_tag in the weights' README.md"
    if facts.submission and facts.submission.card.pipeline_tag:
        return facts.submission.card.pipeline_tag, "the task in the repository's README.md"
    nature = facts.nature()
    return (_suggested(nature).value, "the architecture") if nature.family is Family.GENERATES else ("", "")


def _suggested(nature: Nature) -> contract.Task:
    if nature.makes - {"text"} or {"image", "audio"} <= nature.takes:
        return contract.Task.ANY_TO_ANY
    if "image" in nature.takes:
        return contract.Task.IMAGE_TEXT_TO_TEXT
    return contract.Task.TEXT_GENERATION


@check(
    "task/supported",
    "The task is one that the service evaluates",
    stage=Stage.WEIGHTS,
    rule=contract.TASK_TYPES,
    why="Only three task codes have an evaluation.",
)
def supported(facts: WeightsFacts) -> Findings:
    """The service evaluates text-generation, image-text-to-text and any-to-any, spelled exactly so. The task is
    that of the weights: the kit takes it from --task, else from pipeline_tag in the front matter of the weights'
    README.md, else from that of the adapter repository, else it says what the architecture suggests.

    To repair: name one of the three codes with --task and in both front matters (pipeline_tag: text-generation).
    A model whose task is another one, such as an embedding model, cannot be evaluated.
    """
    code, source = task_of(facts)
    if facts.weights.card.error:
        yield warn(
            expected="a model card whose front matter is YAML",
            seen=f"README.md of the weights: {shown(facts.weights.card.error)}",
            fix="repair the lines between the two --- at the top of README.md",
            where="README.md",
        )
    if not source:
        yield unsettled(
            expected=f"one of {', '.join(CODES)}",
            seen=f"no task was given, no model card names one, and the weights are {facts.nature().family.value}",
            fix="give the task with --task",
        )
    elif code not in CODES:
        yield fail(
            expected=f"one of {', '.join(CODES)}",
            seen=f"“{shown(code)}” ({source})",
            fix=_fix(code),
            where="README.md" if "README" in source else "",
        )
    elif source == "the architecture":
        yield note(f"no task was given; the architecture suggests {code}")


def _fix(code: str) -> str:
    plain = code.strip().lower().replace("_", "-").replace(" ", "-")
    near = difflib.get_close_matches(plain, CODES, n=1, cutoff=0.8)
    if near:
        return f"did you mean {near[0]}?"
    return "choose weights of a task that the service evaluates, or correct the code if the model does one of them"


@check(
    "task/matches-weights",
    "The weights can do the task",
    stage=Stage.WEIGHTS,
    rule=contract.TASK_TYPES,
    why="The service sends the task's chat requests; a model of another kind answers none of them.",
)
def matches_weights(facts: WeightsFacts) -> Findings:
    """All three tasks go over /v1/chat/completions, so the model has to generate text. text-generation needs no
    more than that (a multimodal model does it too); image-text-to-text needs a model that takes images; any-to-any
    one that takes or makes more than text, as Qwen2.5-Omni does.

    What a model can do is read from config.json: its architecture, and the sub-models that it describes
    (vision_config, audio_config, thinker_config …). Embedding, reward, ranking and classification models, encoders,
    diffusion pipelines and speech recognition have no chat completions, whatever the task code says.

    To repair: choose the task that the weights are for, or the weights that the task needs.
    """
    nature = facts.nature()
    if nature.family is Family.UNKNOWN:
        raise NotApplicable(f"what the model is for cannot be told: {nature.because}")
    if nature.family is not Family.GENERATES:
        yield fail(
            expected="a model that answers chat completions",
            seen=f"{nature.family.value} ({shown(nature.because)})",
            fix="submit the weights of a chat model",
            where="config.json",
        )
        return
    yield from _card(facts)
    code, source = task_of(facts)
    if code in CODES:
        yield from _against(contract.Task(code), source, facts)


def _card(facts: WeightsFacts) -> Findings:
    """Chat was asked for, while the weights' own card calls them something else."""
    tag = facts.weights.card.pipeline_tag
    if tag in NOT_GENERATING_TAGS:
        yield warn(
            expected="a model card of a chat model",
            seen=f"pipeline_tag: {tag}, though the architecture generates text",
            fix="check that these are the weights that you mean: ranking models may keep the architecture",
            where="README.md",
        )


def _against(task: contract.Task, source: str, facts: WeightsFacts) -> Findings:
    nature = facts.nature()
    takes, makes = sorted(nature.takes), sorted(nature.makes)
    seen = f"{shown(nature.because)}: takes {' and '.join(takes)}, makes {' and '.join(makes)}"
    if task is contract.Task.TEXT_GENERATION:
        if nature.takes != {"text"}:
            yield note(f"{seen}; text-generation uses only a part of that")
        return
    wanted = "takes images" if task is contract.Task.IMAGE_TEXT_TO_TEXT else "takes or makes more than text"
    suggested = _suggested(nature).value
    misfit = "image" not in nature.takes if task is contract.Task.IMAGE_TEXT_TO_TEXT else _text_only(nature)
    if misfit:
        certain = nature.sure or (nature.takes == {"text"} and not facts.weights.tokenizer.processor)
        report = fail if certain else warn
        yield report(
            expected=f"{task.value} ({source}) needs a model that {wanted}",
            seen=seen,
            fix=f"use the task {suggested}, or other weights",
            where="config.json",
        )
    elif task is contract.Task.ANY_TO_ANY and suggested == contract.Task.IMAGE_TEXT_TO_TEXT.value:
        yield note(f"{seen}; its usual task code is image-text-to-text")


def _text_only(nature: Nature) -> bool:
    return nature.takes == {"text"} and nature.makes == {"text"}
