"""The decorator for checks of the NPUs of a machine."""

from __future__ import annotations

import functools
from collections.abc import Callable

from healthcheck.core.check import Check, Findings, check
from healthcheck.extensions.runner.asked import Depth
from healthcheck.extensions.runner.records import RunnerFacts
from healthcheck.extensions.runner.stage import RUNNER
from healthcheck.extensions.runner.wording import needs_depth, needs_npu

Judge = Callable[[RunnerFacts], Findings]


def npu_check(
    id: str,  # noqa: A002 - the word of the report
    title: str,
    *,
    why: str,
    level: Depth = Depth.SECONDS,
) -> Callable[[Judge], Check[RunnerFacts]]:
    """A check that is skipped on a machine without NPUs, and in a run that did not reach its level."""

    def declare(judge: Judge) -> Check[RunnerFacts]:
        @functools.wraps(judge)
        def run(facts: RunnerFacts) -> Findings:
            needs_npu(facts)
            needs_depth(facts, level)
            yield from judge(facts)

        return check(id, title, stage=RUNNER, why=why)(run)

    return declare
