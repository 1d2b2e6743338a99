"""plan/one-machine: what waits for a second machine is found, and what one machine does is left alone."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from healthcheck.core.records import CheckResult, Outcome
from healthcheck.stages.plan.checks.one_machine import one_machine
from tests.plan.corpus import bash, case
from tests.support.commands import ran
from tests.support.daily import every, these
from tests.support.plans import planned, write

pytestmark = pytest.mark.process

SERVE = 'exec vllm serve "$MODEL_PATH" --host 0.0.0.0 --port 8000'
SGLANG = 'python3 -m sglang.launch_server --model-path "$MODEL_PATH" --host 0.0.0.0 --port 8000'
PARTS = "--data-parallel-size {} --data-parallel-size-local {}"
HEADLESS = 'vllm serve "$MODEL_PATH" --headless'


def judged(root: Path, weights: Path) -> CheckResult:
    return one_machine.judge(planned(root, weights))


def result(tmp_path: Path, weights: Path, body: str, **files: str) -> CheckResult:
    named = {name.replace("__", "."): text for name, text in files.items()}
    return judged(write(case("several machines", bash(body), files=named), tmp_path), weights)


SEVERAL = {
    "nodes": (f"{SERVE} --nnodes 2 --node-rank 0 --master-addr 10.0.0.1", "--nnodes 2"),
    "copies elsewhere": (
        f"{SERVE} --data-parallel-size 4 --data-parallel-size-local 2 --data-parallel-address 10.0.0.1",
        "2 of the 4 copies",
    ),
    "equals signs": (
        f"{SERVE} --data-parallel-size=16 --data-parallel-size-local=8",
        "8 of the 16 copies",
    ),
    "a later rank": (
        f"{SERVE} --data-parallel-size 4 --data-parallel-start-rank 2",
        "before number 2 run elsewhere",
    ),
    "a cluster that is joined": (
        f"ray start --address=10.0.0.1:6379\n{SERVE} --distributed-executor-backend ray",
        "joins the Ray cluster at 10.0.0.1:6379",
    ),
    "a cluster by name": (
        f"export RAY_ADDRESS=ray://head.example.org:10001\n{SERVE} --distributed-executor-backend ray",
        "RAY_ADDRESS=ray://head.example.org:10001",
    ),
    "SGLang": (
        'exec python3 -m sglang.launch_server --model-path "$MODEL_PATH" --host 0.0.0.0 --port 8000 --nnodes 2',
        "--nnodes 2",
    ),
    "one of three nodes missing": (
        f"{SGLANG} --nnodes 3 --node-rank 1 &\n{SGLANG} --nnodes 3",
        "--nnodes 3",
    ),
    "one copy that nobody has": (
        f"{HEADLESS} {PARTS.format(4, 1)} --data-parallel-start-rank 2 &\n{SERVE} {PARTS.format(4, 2)}",
        "3 of the 4 copies",
    ),
    "nodes in the environment": (
        f"export ADAPTER_MULTI_NODE=ray ADAPTER_NODES='10.0.0.1 10.0.0.2'\n{SERVE}",
        'ADAPTER_MULTI_NODE = "ray" over 2 nodes (ADAPTER_NODES)',
    ),
    "this machine's name elsewhere": (
        f"export RAY_ADDRESS=localhost.example.org:6379\n{SERVE}",
        "another machine",
    ),
}


SEVERAL |= {
    "a rank of its own": (
        f"{SERVE} --data-parallel-size 2 --data-parallel-rank 0",
        "1 of the 2 ranks",
    ),
}


@pytest.mark.parametrize("name", every(6, SEVERAL))
def test_what_waits_for_another_machine_fails(tmp_path, weights, name):
    body, said = SEVERAL[name]
    found = result(tmp_path, weights, body)
    assert found.outcome is Outcome.FAIL
    assert any(said in finding.seen for finding in found.findings)
    assert all("has one" in finding.expected and finding.fix for finding in found.findings)


ONE = {
    "both ranks of their own here": (
        f'vllm serve "$MODEL_PATH" --port 8001 --data-parallel-size 2 --data-parallel-rank 1 &\n'
        f"{SERVE} --data-parallel-size 2 --data-parallel-rank 0"
    ),
    "plain": SERVE,
    "tensor and pipeline": f"{SERVE} --tensor-parallel-size 4 --pipeline-parallel-size 2",
    "Ray alone": f"ray start --head --port=6379\n{SERVE} --distributed-executor-backend ray",
    "Ray at home": f"export RAY_ADDRESS=auto\nray start --address=127.0.0.1:6379\n{SERVE}",
    "all copies here": f"{SERVE} --data-parallel-size 4 --data-parallel-size-local 4",
    "copies": f"{SERVE} --data-parallel-size 4 --data-parallel-address 127.0.0.1 --data-parallel-start-rank 0",
    "its own address": f"{SERVE} --data-parallel-size 2 --data-parallel-address $(hostname -I | cut -d ' ' -f 1)",
    "one node": f"{SERVE} --nnodes 1 --node-rank 0",
    "a part beside the head": (
        f"{HEADLESS} --data-parallel-size 2 --data-parallel-size-local 1 --data-parallel-start-rank 1 &\n"
        f"{SERVE} --data-parallel-size 2 --data-parallel-size-local 1 --data-parallel-address 127.0.0.1"
    ),
    "a head without copies": f"{HEADLESS} {PARTS.format(2, 2)} &\n{SERVE} {PARTS.format(2, 0)}",
    "both ranks here": (
        f"{SGLANG} --nnodes 2 --node-rank 1 --dist-init-addr 127.0.0.1:5000 &\n"
        f"exec {SGLANG} --nnodes 2 --node-rank 0 --dist-init-addr 127.0.0.1:5000"
    ),
    "one address": f"export ADAPTER_MULTI_NODE=ray ADAPTER_NODES=127.0.0.1\n{SERVE}",
    "the whole name of this host": f"export RAY_ADDRESS=localhost.localdomain:6379\n{SERVE}",
}


@pytest.mark.parametrize("name", every(6, ONE))
def test_one_machine_passes(tmp_path, weights, name):
    assert result(tmp_path, weights, ONE[name]).outcome is Outcome.PASS


TOML = (
    '# two\nmulti_node = "{style}"\nnodes = ["10.0.0.1", "10.0.0.2"]\nnetwork_interface = "eth0"\n'
)


@pytest.mark.parametrize("style", every(2, ["ray", "data-parallel"]))
def test_settings_that_ask_for_several_machines_fail_with_their_line(tmp_path, weights, style):
    found = result(tmp_path, weights, SERVE, adapter__toml=TOML.format(style=style))
    assert found.outcome is Outcome.FAIL
    (finding,) = found.findings
    assert finding.where == "adapter.toml:2"
    assert "over 2 nodes" in finding.seen
    assert "comment out multi_node and nodes in adapter.toml" in finding.fix


TOLERATED = {
    "empty": "",
    "comments": "# " + TOML.replace("\n", "\n# "),
    "of one machine": 'multi_node = "ray"\nnodes = ["10.0.0.1"]\n',
    "no TOML": "multi_node = [\n",
    "deep": "nodes = " + "[" * 20_000,
    "long": "nodes = " + "9" * 5_000,
    "a zero byte": "\x00",
}


@pytest.mark.parametrize("name", these({"of one machine", "no TOML"}, TOLERATED))
def test_settings_that_do_not_ask_for_them_pass(tmp_path, weights, name):
    assert result(tmp_path, weights, SERVE, adapter__toml=TOLERATED[name]).outcome is Outcome.PASS


@pytest.mark.parametrize(
    "variable", every(2, ["ADAPTER_MULTI_NODE=default", "ADAPTER_NODES=10.0.0.1"])
)
def test_the_environment_wins_over_the_settings(tmp_path, weights, variable):
    found = result(
        tmp_path, weights, f"export {variable}\n{SERVE}", adapter__toml=TOML.format(style="ray")
    )
    assert found.outcome is Outcome.PASS


def test_a_repository_without_server_and_settings_is_skipped(tmp_path, weights):
    assert result(tmp_path, weights, "exit 0").outcome is Outcome.SKIP


def test_the_template_with_its_settings_for_several_machines_fails(tmp_path, weights):
    adapter = tmp_path / "adapter"
    assert ran("new", str(adapter), "--template", "planned", "--defaults").returncode == 0
    assert judged(adapter, weights).outcome is Outcome.PASS
    settings = adapter / "adapter.toml"
    settings.write_text(
        settings.read_text("utf-8") + TOML.format(style="data-parallel"), encoding="utf-8"
    )
    git = ["git", "-C", adapter, "-c", "user.name=Test", "-c", "user.email=test@example.org"]
    subprocess.run([*git, "commit", "--quiet", "-a", "-m", "several"], check=True)
    assert judged(adapter, weights).outcome is Outcome.FAIL
