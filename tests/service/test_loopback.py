"""service/starts: a server that only its own machine can reach."""

from __future__ import annotations

from pathlib import Path

from healthcheck.core.records import Outcome
from healthcheck.stages.service.checks.starts import starts
from healthcheck.stages.service.records import Launch, LaunchOutcome
from healthcheck.system.processes import Listener, Process


def test_a_loopback_listener_is_a_sentence_with_its_predicate() -> None:
    server = Process(pid=7, started_s=1.0, command="vllm serve", user="me")
    launch = Launch(
        outcome=LaunchOutcome.READY,
        command=("bash", "deploy.sh"),
        log=Path("launch.log"),
        port=8000,
        deadline_s=60,
        ready_s=3.0,
        listeners=(Listener(address="127.0.0.1", port=8000, process=server),),
    )
    result = starts.judge(launch)
    assert result.outcome is Outcome.WARN
    assert any(
        finding.seen.startswith(
            "it listens only on 127.0.0.1:8000, which other machines cannot reach;"
        )
        and finding.seen.endswith(
            "whether the service's client runs on the same machine is unknown"
        )
        for finding in result.findings
    ), result.findings
