"""What an extension imports; everything else of the kit is private and may change in any release.

`VERSION` grows when a name is taken out or means something else. A check is declared for the facts of its stage:

| stage | facts |
|---|---|
| `Stage.REPO` | `Submission`: the committed files |
| `Stage.PLAN` | `LaunchPlan`: what deploy.sh would launch |
| `Stage.WEIGHTS` | `WeightsFacts`: the weights, and the task |
| `Stage.SERVICE` | `Launch`: the real launch |
| `Stage.ENDPOINT` | `Interview`: what the server answered |
| `Stage.PROBE` | `ProbeRun`: the samples and their grades |

An extension may have a stage of its own, with a place between these. The kit's own extensions also add options to
`verify` and `probe` (`Addition`); what such an option of `verify` asks for is a `Measurement`.

A check of an NPU machine has the stage `RUNNER` and the facts `RunnerFacts` of `healthcheck.extensions.runner.api`.

`read_submission(folder)` gathers the first, for tests.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from healthcheck.contract import Rule, Status
from healthcheck.core.check import (
    Check,
    Findings,
    NotApplicable,
    check,
    fail,
    note,
    unsettled,
    warn,
)
from healthcheck.core.extensions import Addition, Command, switch
from healthcheck.core.records import (
    CheckResult,
    Finding,
    JsonValue,
    Level,
    Outcome,
    Report,
    Verdict,
)
from healthcheck.core.stages import Stage, Subject
from healthcheck.errors import Blocked, ExitStatus, KitError, KitFailure, UsageError
from healthcheck.text.messages import msg, plural

if TYPE_CHECKING:
    from healthcheck.stages.endpoint.records import Interview
    from healthcheck.stages.plan.records import LaunchPlan
    from healthcheck.stages.probe.records import ProbeRun
    from healthcheck.stages.repo.facts import read_submission
    from healthcheck.stages.repo.records import Submission
    from healthcheck.stages.service.records import Launch
    from healthcheck.stages.weights.records import WeightsFacts
    from healthcheck.verify.run import Measurement, Run

VERSION = 2
_FACTS = {
    "Interview": "stages.endpoint.records",
    "Launch": "stages.service.records",
    "LaunchPlan": "stages.plan.records",
    "Measurement": "verify.run",
    "ProbeRun": "stages.probe.records",
    "Run": "verify.run",
    "Submission": "stages.repo.records",
    "WeightsFacts": "stages.weights.records",
    "read_submission": "stages.repo.facts",
}
__all__ = [
    "VERSION",
    "Addition",
    "Blocked",
    "Check",
    "CheckResult",
    "Command",
    "ExitStatus",
    "Finding",
    "Findings",
    "Interview",
    "JsonValue",
    "KitError",
    "KitFailure",
    "Launch",
    "LaunchPlan",
    "Level",
    "Measurement",
    "NotApplicable",
    "Outcome",
    "ProbeRun",
    "Report",
    "Rule",
    "Run",
    "Stage",
    "Status",
    "Subject",
    "Submission",
    "UsageError",
    "Verdict",
    "WeightsFacts",
    "check",
    "fail",
    "msg",
    "note",
    "plural",
    "read_submission",
    "switch",
    "unsettled",
    "warn",
]


def __getattr__(name: str) -> object:
    """The facts of a stage, imported when they are used: a command of an extension needs none of them."""
    if name not in _FACTS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"healthcheck.{_FACTS[name]}"), name)
