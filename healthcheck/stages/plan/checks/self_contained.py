"""plan/self-contained: deploy.sh needs nothing that the service does not provide."""

from __future__ import annotations

from collections.abc import Sequence

from healthcheck import contract
from healthcheck.core.check import Findings, check, fail, unsettled, warn
from healthcheck.core.records import CheckResult, Outcome
from healthcheck.text.messages import msg

PARTS = (
    "plan/no-arguments",
    "plan/no-other-variables",
    "plan/no-missing-files",
    "plan/no-missing-programs",
    "plan/no-missing-modules",
    "plan/engine-installed",
    "plan/no-downloads",
    "plan/no-image-paths",
    "plan/any-processor",
    "plan/keeps-packages",
    "plan/ascend-environment",
)
"""The checks that this check sums up, in the order of the report."""
_EXPECTED = msg("a start that needs nothing but the commit, the image and MODEL_PATH")
_FIX = msg("each of these checks names its repair")


@check(
    "plan/self-contained",
    msg("deploy.sh needs nothing that the service does not provide"),
    rule=contract.STARTS_THE_SERVICE,
    why=msg(
        "The service runs deploy.sh alone in a clean image: no arguments, no terminal, no files but the commit's."
    ),
    requires=("repo/deploy-sh-present",),
)
def self_contained(results: Sequence[CheckResult]) -> Findings:
    """The summary of plan/no-arguments, plan/no-other-variables, plan/no-missing-files, plan/no-missing-programs,
    plan/no-missing-modules, plan/engine-installed, plan/no-downloads, plan/no-image-paths, plan/any-processor,
    plan/keeps-packages and plan/ascend-environment: it has the most severe outcome among them.

    deploy.sh runs in a clean image, from a fresh clone, with MODEL_PATH and nothing else. Each of these checks
    names one thing that it must not need, with an example and its repair.
    """
    parts = [result for result in results if result.id in PARTS]
    failed = [result.id for result in parts if result.outcome is Outcome.FAIL]
    open_ = [result.id for result in parts if not result.settled]
    warned = [result.id for result in parts if result.outcome is Outcome.WARN]
    for say, ids, seen in (
        (fail, failed, msg("failed: {failed}", failed=", ".join(failed))),
        (unsettled, open_, msg("not settled: {open}", open=", ".join(open_))),
        (warn, warned, msg("warned: {warned}", warned=", ".join(warned))),
    ):
        if ids:
            yield say(expected=_EXPECTED, seen=seen, fix=_FIX, evidence={"sums_up": [*ids]})
