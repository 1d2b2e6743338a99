"""The task of a submission, and the codes that the service evaluates."""

from __future__ import annotations

from collections.abc import Iterator

from healthcheck import contract
from healthcheck.stages.weights.nature import Family, Nature
from healthcheck.stages.weights.records import WeightsFacts
from healthcheck.text.messages import msg


def task_of(facts: WeightsFacts) -> tuple[str, str]:
    """The task code and its source: --task, the weights' card, the repository's card, or the architecture."""
    for code, source in named_tasks(facts):
        return code, source
    nature = facts.nature()
    return (
        (usual_task(nature).value, msg("the architecture"))
        if nature.family is Family.GENERATES
        else ("", "")
    )


def named_tasks(facts: WeightsFacts) -> Iterator[tuple[str, str]]:
    """The explicit task codes, each with its source; the first one is judged."""
    if facts.task is not None:
        yield (facts.task.value if isinstance(facts.task, contract.Task) else facts.task), "--task"
    card = facts.weights.card
    if card.task:
        yield card.task, msg("{task_key} in the weights' README.md", task_key=card.task_key)
    if facts.submission and facts.submission.card.task:
        card = facts.submission.card
        yield card.task, msg("{task_key} in the repository's README.md", task_key=card.task_key)


def usual_task(nature: Nature) -> contract.Task:
    if nature.makes - {"text"} or {"image", "audio"} <= nature.takes:
        return contract.Task.ANY_TO_ANY
    if "image" in nature.takes:
        return contract.Task.IMAGE_TEXT_TO_TEXT
    return contract.Task.TEXT_GENERATION
