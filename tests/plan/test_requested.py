"""What installations bring, judged on made-up records of a dry run."""

from __future__ import annotations

import pytest

from healthcheck.core.records import Outcome
from healthcheck.engines import known
from healthcheck.sandbox.job import EndedBy
from healthcheck.stages.plan.checks.engine_installed import engine_installed
from healthcheck.stages.plan.records import (
    Api,
    LaunchPlan,
    Origin,
    PortSource,
    RecordedCommand,
    ServerCommand,
    ShellRun,
)


def plan(engine: str, *commands: str) -> LaunchPlan:
    """A launch of an engine that the image does not have, after these commands."""
    server = ServerCommand(
        engine=known.named(engine), api=Api.OPENAI_CHAT, argv=(), command=engine, env={}, cwd="", foreground=True, model=None,
        port=8000, port_source=PortSource(kind=Origin.OPTION, text=""), host=None,
    )  # fmt: skip
    recorded = tuple(
        RecordedCommand(program=words[0], argv=tuple(words), cwd="")
        for words in map(str.split, commands)
    )
    run = ShellRun(
        shell="sh", exit_status=None, ended_by=EndedBy.SERVER, stdout="", stderr="", commands=recorded, servers=(server,)
    )  # fmt: skip
    return LaunchPlan(
        server=server, servers=(server,), commands=recorded, spaced=None, model_path="", spaced_model_path="", root="",
        run=run,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("command", "outcome"),
    [
        ("true", Outcome.WARN),
        ("apt-get update", Outcome.WARN),
        ("apt-get install -y llama.cpp", Outcome.PASS),
        ("apt install --yes libggml0", Outcome.PASS),
        ("yum -y install numactl", Outcome.PASS),
        ("dnf install -y numactl", Outcome.PASS),
        ("pip install requests", Outcome.WARN),
        ("pip install llama-cpp-python==0.3", Outcome.PASS),
        ("git status", Outcome.WARN),
        ("git clone https://example.org/llama.cpp", Outcome.PASS),
        ("curl -o /tmp/x https://example.org/x", Outcome.PASS),
        ("curl -o /tmp/x http://localhost:8000/health", Outcome.WARN),
    ],
)
def test_an_engine_may_come_from_whatever_installs_something(
    command: str, outcome: Outcome
) -> None:
    assert engine_installed.judge(plan("llama.cpp", command)).outcome is outcome
