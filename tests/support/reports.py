"""Reports and measurements to render: made of public records, hostile wherever text comes from outside."""

from __future__ import annotations

import re
from itertools import islice
from pathlib import Path

from healthcheck import contract
from healthcheck.core.records import (
    SIMULATOR,
    CheckResult,
    Finding,
    Level,
    Outcome,
    Report,
    verdict_of,
)
from healthcheck.core.stages import Stage
from healthcheck.stages.probe.grading import grade
from healthcheck.stages.probe.problems import FAMILIES
from healthcheck.stages.probe.records import ProbeRun, ProbeSettings, Sample

HOSTILE = (
    '</script><script>window.broken = 1</script><img src="http://203.0.113.9/x" onerror="window.broken = 2">'
    "</pre></dd>{{ 7 * 7 }}{% raw %}${window.broken = 3}`'\"&lt;\u2028<!--<![CDATA[\x1b[2J\u202e javascript:window.broken=4"
    "\r\n::error::x\n::set-output name=a::b"
)


def run(*, problems: int = 12, samples: int = 5, answer: str = HOSTILE) -> ProbeRun:
    """A run with one failed request: of each three samples, the first two are right and the third is `answer`."""
    tiers = FAMILIES["arithmetic"]
    bank = tuple(
        problem
        for tier in ("easy", "medium", "hard")
        for problem in islice(tiers(tier, 0), problems // 3)
    )
    taken = []
    for order in range(len(bank) * samples):
        problem, repeat = order % len(bank), order // len(bank)
        text = f"The answer is {bank[problem].answer}." if order % 3 else answer
        taken.append(
            Sample(order=order, problem=problem, repeat=repeat, text=text, finish_reason="stop", completion_tokens=40,
                   first_s=0.2 + 0.01 * (order % 7), seconds=1.5)
        )  # fmt: skip
    taken[-1] = Sample(
        order=taken[-1].order,
        problem=taken[-1].problem,
        repeat=samples - 1,
        error=f"HTTP 500 {HOSTILE}",
    )
    return ProbeRun(
        settings=ProbeSettings(
            url="http://127.0.0.1:8000", model=HOSTILE, problems=len(bank), samples=samples
        ),
        problems=bank,
        samples=tuple(taken),
        grades=tuple(grade(bank[sample.problem], sample.text) for sample in taken),
        planned=len(taken),
        stopped="",
        seconds=12.5,
        folder=Path("run"),
    )


def report(*, simulated: bool = False) -> Report:
    """A report that failed, with every kind of outcome, and hostile text wherever text comes from outside."""
    fields = {"title": "A title", "why": "A reason."}
    results = (
        CheckResult(id="repo/deploy-sh-present", stage=Stage.REPO, outcome=Outcome.PASS, rule=None, **fields),
        CheckResult(
            id="plan/port",
            stage=Stage.PLAN,
            outcome=Outcome.FAIL,
            rule=contract.LISTENS_ON_PORT,
            findings=(
                Finding(level=Level.WARN, expected="nothing", seen=HOSTILE, fix="the second repair"),
                Finding(level=Level.FAIL, expected="port 8000", seen=f"--port 8001 {HOSTILE}", fix="write --port 8000",
                        where="deploy.sh:7", evidence={"line": HOSTILE}),
            ),
            title="The server listens on port 8000",
            why="The service connects to port 8000.",
            seconds=0.25,
        ),
        CheckResult(id="weights/size", stage=Stage.WEIGHTS, outcome=Outcome.SKIP, because=HOSTILE, rule=None, **fields),
        CheckResult(id="service/port-free", stage=Stage.SERVICE, outcome=Outcome.PASS, settled=False, rule=None,
                    findings=(Finding(level=Level.UNSETTLED, expected="a free port", seen=HOSTILE, fix="stop it"),), **fields),
        CheckResult(id="endpoint/stream", stage=Stage.ENDPOINT, outcome=Outcome.ERROR, because=HOSTILE, rule=None, **fields),
        CheckResult(id="probe/accuracy", stage=Stage.PROBE, outcome=Outcome.SKIP, settled=False, rule=None,
                    because="no server answers", **fields),
    )  # fmt: skip
    phases = [
        {"name": "loading weights", "at_s": 4.0},
        {"name": f"answering the first request {HOSTILE}", "at_s": 30.0},
    ]
    return Report(
        verdict=verdict_of(results),
        results=results,
        asked="repo to probe",
        metrics={
            "avg@5": {"value": 0.5, "low": 0.4, "high": 0.6, "question": "problems like these"},
            "numerics_by_length": [
                {"relation": "again", "length": length, "shift": 0.01}
                for length in (20, 60, 130, 900, 8000)
            ]
            + [{"relation": f"in a batch of 3 {HOSTILE}", "length": 130, "shift": 6.02}],
        },
        provenance={
            "kit": "0",
            "model": HOSTILE,
            "server": SIMULATOR if simulated else HOSTILE,
            "launch": {
                "outcome": "ready",
                "ready_s": 42.0,
                "seconds": 42.0,
                "phases": phases,
                "log_tail": ["Started server", HOSTILE],
            },
            "server_command": {
                "arguments": ["/w", "--port", "8000", "--max-model-len", "4096"],
                "environment": {"VLLM_USE_V1": "1"},
            },
            "versions": {"vllm": "0.23.0", "torch_npu": "unknown", "devices": "8 × 910B3"},
            "stages": {"repo": 0.2, "plan": 1.5, "service": 61.0},
        },
    )


def text_of_options(html: str) -> str:
    """The page without the elements that keep options whole, so that a text is found as one."""
    return re.sub(r'<span class="option">([^<]*)</span>', r"\1", html)
