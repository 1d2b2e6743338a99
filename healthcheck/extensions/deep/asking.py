"""The interface of this extension to the core: the judgement of `verify --deep`, and the lines of `doctor`."""

from __future__ import annotations

from pathlib import Path

from healthcheck.extensions.deep.checks import CHECKS
from healthcheck.extensions.deep.environment import MAKE, find_python
from healthcheck.extensions.deep.facts import gather_engine_config
from healthcheck.extensions.deep.request import Question
from healthcheck.stages.plan.records import LaunchPlan
from healthcheck.stages.repo.facts import Submission
from healthcheck.text.messages import msg
from healthcheck.verify.run import Run

__all__ = ["MAKE", "find_python", "judge"]


def judge(run: Run, submission: Submission, plan: LaunchPlan, weights: Path) -> None:
    """Let the real vLLM and vllm-ascend build the configuration from the plan's arguments."""
    asked = run.request
    run.progress.update(msg("the real vLLM builds its configuration: a minute or so"))
    question = Question(
        plan=plan,
        root=submission.root,
        weights=weights,
        engine_python=asked.engine_python,
        npu=asked.npu,
        devices=asked.npus,
    )
    run.ledger.judge(CHECKS, lambda: gather_engine_config(question))
