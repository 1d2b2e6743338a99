"""task/supported: the task is one that the service evaluates."""

from __future__ import annotations

import difflib

from healthcheck import contract
from healthcheck.core.check import At, Findings, fail, note, unsettled
from healthcheck.stages.weights.folder import shown
from healthcheck.stages.weights.records import WeightsFacts, check
from healthcheck.stages.weights.task import named_tasks, task_of
from healthcheck.text.messages import joined, msg


@check(
    "task/supported",
    msg("The task is one that the service evaluates"),
    rule=contract.TASK_TYPES,
    why=msg("Other tasks have no evaluation."),
)
def task_supported(facts: WeightsFacts) -> Findings:
    """The service evaluates these tasks, spelled exactly so: {tasks}. The kit takes
    the task from --task, else from pipeline_tag in the front matter of the weights' README.md, else from that of
    the adapter repository, else from the architecture. Where two of them name different tasks, that is a warning:
    the service evaluates the task of the selected weights.

    To repair: name one of these codes with --task and in both front matters (pipeline_tag: text-generation).
    Models of other tasks, such as embedding models, cannot be evaluated.

    Example:
    ```yaml README.md
    ---
    pipeline_tag: text2text-generation
    ---
    ```

    Use instead:

    ```yaml README.md
    ---
    pipeline_tag: text-generation
    ---
    ```
    """
    (code, source), one_of = task_of(facts), msg("one of {codes}", codes=", ".join(contract.TASKS))
    if facts.weights.card.error:
        expected = msg("a model card whose front matter is YAML")
        seen = msg("README.md of the weights: {error}", error=shown(facts.weights.card.error))
        fix = msg("repair the lines between the two --- at the top of README.md")
        yield At("README.md").warn(expected=expected, seen=seen, fix=fix)
    if not source:
        kind = facts.nature().family.value
        seen = msg(
            "no task was given, no model card names one, and the weights are {value}", value=kind
        )
        yield unsettled(expected=one_of, seen=seen, fix=msg("give the task with --task"))
    elif code not in contract.TASKS:
        seen, where = (
            msg("“{code}” ({source})", code=shown(code), source=source),
            "README.md" if "README" in source else "",
        )
        yield fail(expected=one_of, seen=seen, fix=_fix(code), where=where)
    elif source == "the architecture":
        yield note(msg("no task was given; the architecture suggests {code}", code=code))
    yield from _contradictions(facts)


def _contradictions(facts: WeightsFacts) -> Findings:
    """Warn about each source that names another task than the judged one."""
    (code, source), *others = [*named_tasks(facts), ("", "")]
    for other, where in others:
        if other and other != code:
            expected = msg(
                "one task everywhere; {code} is judged ({source})", code=shown(code), source=source
            )
            seen = msg("“{other}” ({where})", other=shown(other), where=where)
            fix = msg("name the same task in both: {agreement}", agreement=_agreement(code, other))
            yield At("README.md" if "repository" in where else "").warn(
                expected=expected, seen=seen, fix=fix
            )


def _agreement(code: str, other: str) -> str:
    known = [each for each in (code, other) if each in contract.TASKS]
    choice = msg(", whichever the weights are for") if len(known) != 1 else ""
    return "pipeline_tag: " + joined(" or ", map(shown, known or contract.TASKS)) + choice


def _fix(code: str) -> str:
    plain = code.strip().lower().replace("_", "-").replace(" ", "-")
    near = difflib.get_close_matches(plain, contract.TASKS, n=1, cutoff=0.8)
    other = msg(
        "choose weights of a task that the service evaluates, or correct the code if the model does one of them"
    )
    return msg("write {near}, if that was meant", near=near[0]) if near else other
