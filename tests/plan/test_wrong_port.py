"""What a script that polls a port where nothing listens does in the end, in the run that loads for ever."""

from __future__ import annotations

from dataclasses import replace

import pytest

from healthcheck.core.records import Outcome
from healthcheck.sandbox.job import EndedBy
from healthcheck.stages.plan.checks.readiness_poll import readiness_poll
from healthcheck.stages.plan.records import Observations
from tests.plan.test_flags import command, plan_of

SCRIPT = "vllm serve $MODEL_PATH &\nuntil curl localhost:8080/health; do sleep 30; done\n"


@pytest.mark.parametrize(
    ("ended_by", "polled", "outcome"),
    [
        (EndedBy.EXIT, False, Outcome.FAIL),
        (EndedBy.TIME, False, Outcome.WARN),
        (EndedBy.EXIT, True, Outcome.WARN),
    ],
    ids=["gives up", "polls for ever", "polls its own port, too"],
)
def test_giving_up_fails_however_long_it_waits(
    ended_by: EndedBy, polled: bool, outcome: Outcome
) -> None:
    plan = plan_of(command("/w"))
    loading = replace(plan.run, ended_by=ended_by, slept_s=1800.0)
    plan = replace(
        plan, run=replace(plan.run, polled=polled), loading_run=loading, script=SCRIPT,
        observed=Observations(refused_ports=(8080,)),
    )  # fmt: skip
    result = readiness_poll.judge(plan)
    assert result.outcome is outcome
    assert "port 8080, where nothing listens" in result.findings[0].seen
    assert result.findings[0].where == "deploy.sh:2"
