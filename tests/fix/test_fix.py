"""What --fix repairs, and what it leaves alone: where anything is in doubt, nothing changes."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from healthcheck.core.check import fail
from healthcheck.core.records import CheckResult, Edit, Outcome
from healthcheck.core.stages import Stage
from healthcheck.engines import known
from healthcheck.sandbox.job import EndedBy
from healthcheck.stages.plan.records import (
    Api,
    LaunchPlan,
    Origin,
    PortSource,
    ServerCommand,
    ShellRun,
)
from healthcheck.verify.fix import already_made, left_alone
from tests.support import commands
from tests.support.repositories import folder, git, repository

WEIGHTS = Path(__file__).parents[2] / "examples" / "simulated_engine" / "weights"
EDIT = Edit(file="deploy.sh", line=1, old="a", new="b")


def result(check_id: str, outcome: Outcome = Outcome.FAIL) -> CheckResult:
    found = (fail(expected="", seen="", edits=[EDIT]),) if outcome is not Outcome.PASS else ()
    return CheckResult(
        id=check_id, stage=Stage.PLAN, title="", outcome=outcome, why="", findings=found
    )


def recorded(
    where: str = "", engine: str = "vllm", names: tuple[str, ...] = (), port: int | None = None
) -> LaunchPlan:
    server = ServerCommand(
        engine=known.named(engine), api=Api.OPENAI_CHAT, argv=(), command="", env={}, cwd="", foreground=True, model=None, port=port,
        port_source=PortSource(kind=Origin.UNKNOWN, text=""), host=None, where=where, served_names=names,
    )  # fmt: skip
    run = ShellRun(
        shell="sh",
        exit_status=None,
        ended_by=EndedBy.SERVER,
        stdout="",
        stderr="",
        commands=(),
        servers=(server,),
    )
    return LaunchPlan(
        server=server,
        servers=(server,),
        commands=(),
        spaced=None,
        model_path="",
        spaced_model_path="",
        root="",
        run=run,
    )


def fixed(root: Path) -> commands.Ended:
    done = commands.ran(
        "verify", str(root), "--weights", str(WEIGHTS), "--until", "plan", "--quiet", "--fix"
    )
    assert "Traceback" not in done.stderr
    return done


CD = 'cd "$(dirname "$0")"'
UNSURE = (
    'vllm serve "$MODEL_PATH" --port $(cat /etc/port || echo 8001)',
    'vllm serve "$MODEL_PATH" --port 8001 --port 8002',
    "bash -c \"vllm serve '$MODEL_PATH' --port 8001\"",
    'if false; then vllm serve x --no-such; fi\nvllm serve "$MODEL_PATH" $MORE_OPTIONS "--no-such thing and more"',
    "python3 launch.py --port 8001",
    'echo "--port 8001"\nsh start.sh',
)


@pytest.mark.process
@pytest.mark.parametrize("script", UNSURE)
def test_in_doubt_nothing_changes(tmp_path: Path, script: str):
    text = f'#!/bin/bash\n[ -n "${{BASH_VERSION:-}}" ] || exec bash "$0" "$@"\n{CD}\n{script}\n'
    launch = 'import os, sys\nos.execvp("vllm", ["vllm", "serve", os.environ["MODEL_PATH"], "--port", "8001"])\n'
    start = '#!/bin/sh\nexec vllm serve "$MODEL_PATH" --port 8001\n'
    root = repository(tmp_path / "r", {"deploy.sh": text, "launch.py": launch, "start.sh": start})
    fixed(root)
    assert (root / "deploy.sh").read_text() == text


@pytest.mark.process
def test_the_recorded_line_decides_between_two_launches(tmp_path: Path):
    text = (
        "#!/bin/sh\nif false; then\nvllm serve a --port 1\nelse\n"
        'vllm serve "$MODEL_PATH" --port 2\nfi\n# --port 2\n'
    )
    root = repository(tmp_path / "r", {"deploy.sh": text})
    fixed(root)
    assert (root / "deploy.sh").read_text() == text.replace('PATH" --port 2', 'PATH" --port 8000')


@pytest.mark.process
def test_crlf_stays_where_it_is_no_fault_of_the_commit(tmp_path: Path):
    text = '#!/bin/sh\nexec vllm serve "$MODEL_PATH" --port 8001\n'
    root = repository(tmp_path / "r", {"deploy.sh": text})
    git(root, "config", "core.autocrlf", "true")
    (root / "deploy.sh").write_bytes(text.replace("\n", "\r\n").encode())
    fixed(root)
    assert b"--port 8000" in (root / "deploy.sh").read_bytes()


@pytest.mark.process
def test_links_are_left_alone(tmp_path: Path):
    root = folder(
        tmp_path / "r", {"start.sh": '#!/bin/sh\nexec vllm serve "$MODEL_PATH" --port 8001\n'}
    )
    (root / "deploy.sh").symlink_to("start.sh")
    repository(root, {})
    fixed(root)
    assert (root / "deploy.sh").is_symlink()
    assert "8001" in (root / "start.sh").read_text()


@pytest.mark.process
def test_a_report_has_the_edits_without_secrets(tmp_path: Path):
    text = (
        '#!/bin/sh\nexec vllm serve "$MODEL_PATH" --api-key sk-aZ3kQ9wLxP7rT2vB8nM4 --port 8001\n'
    )
    root = repository(tmp_path / "r", {"deploy.sh": text})
    file = tmp_path / "report.json"
    commands.ran(
        "verify", str(root), "--weights", str(WEIGHTS), "--until", "plan", "--json", str(file)
    )
    written = file.read_text()
    checks = {check["id"]: check for check in json.loads(written)["checks"]}
    (port,) = checks["plan/port"]["evidence"]
    assert port["edits"] == [
        {
            "file": "deploy.sh",
            "line": 2,
            "old": "--port 8001",
            "new": "--port 8000",
            "executable": False,
        }
    ]
    assert port["fix"] == "in deploy.sh:2 replace `--port 8001` by `--port 8000`"
    assert "aZ3kQ9wLxP7rT2vB8nM4" not in written
    assert "aZ3kQ9wLxP7rT2vB8nM4" not in fixed(root).stdout
    assert (
        root / "deploy.sh"
    ).read_text() == '#!/bin/sh\nexec vllm serve "$MODEL_PATH" --port 8000\n'


def test_what_is_left_alone_is_said() -> None:
    by_hand = replace(
        result("plan/port"), findings=(fail(expected="", seen="", fix="write --port 8000"),)
    )
    without = replace(result("plan/served-name"), findings=(fail(expected="", seen="", fix=""),))
    assert left_alone([by_hand, without, result("plan/host", Outcome.PASS)]) == (
        "to repair by hand, as described below: plan/port, plan/served-name",
    )


def test_uncommitted_changes_are_the_reason_where_there_are_any() -> None:
    (said,) = left_alone([result("plan/port")], ("deploy.sh",))
    assert said.endswith(": deploy.sh has uncommitted changes; commit or stash them first")
    (said,) = left_alone([result("plan/port")], ("requirements.txt",))
    assert "uncommitted" not in said


def test_a_repair_counts_as_made_only_where_the_copy_passes() -> None:
    ids = ("plan/port", "plan/host", "plan/served-name", "plan/no-api-key")
    copy = [result(id_, Outcome.SKIP if id_ == "plan/host" else Outcome.PASS) for id_ in ids]
    assert already_made(map(result, ids), copy) == (
        "plan/port",
        "plan/served-name",
        "plan/no-api-key",
    )
