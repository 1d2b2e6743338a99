"""The weights stage: whether the weights are complete, and whether the recorded launch suits them."""

from __future__ import annotations

from pathlib import Path

from healthcheck.contract import Task
from healthcheck.core.stages import Stage
from healthcheck.stages.plan.records import LaunchPlan
from healthcheck.stages.repo.records import Submission
from healthcheck.stages.weights.ahead import announced
from healthcheck.stages.weights.checks import AHEAD, CHECKS
from healthcheck.stages.weights.facts import survey
from healthcheck.stages.weights.records import WeightsFacts
from healthcheck.stages.weights.task import task_of
from healthcheck.text.messages import msg
from healthcheck.verify import provenance
from healthcheck.verify.run import TASKS, Run


def weigh(run: Run, submission: Submission, folder: Path, plan: LaunchPlan | None) -> Task:
    """Judge the weights; returns the task that they are for."""
    run.begin(Stage.WEIGHTS)
    facts, checks = _facts(run, submission, folder, plan), run.checks(Stage.WEIGHTS, CHECKS)
    if run.request.ahead:
        run.ledger.judge(AHEAD, lambda: facts)
        run.ledger.skip(checks[::-1], msg("the weights are not here"))
    else:
        run.ledger.judge(checks, lambda: facts)
    code = task_of(facts)[0]
    run.provenance["task"] = code or "unknown"
    return TASKS.get(code, Task.TEXT_GENERATION)


def leave_open(run: Run, because: str) -> None:
    """Record that nothing is known of the weights: the first of their checks has no answer."""
    run.ledger.leave_open(CHECKS[0], because)


def _facts(run: Run, submission: Submission, folder: Path, plan: LaunchPlan | None) -> WeightsFacts:
    asked = run.request
    weights = survey(folder, below=plan.served_below if plan else "")
    run.provenance["weights"] = asked.ahead or str(folder)
    if asked.ahead:
        weights = announced(weights)
    else:
        run.provenance["weights_fingerprint"] = provenance.fingerprint(weights)
        headers = (shard.header for shard in weights.shards if shard.header)
        run.parameters = sum(each.elements for header in headers for each in header.tensors)
    return WeightsFacts(
        uploaded=weights,
        plan=plan,
        submission=submission,
        task=asked.task or None,
        limit_bytes=asked.weight_limit_bytes,
        npu=asked.npu or None,
        npus=asked.npus or None,
    )
