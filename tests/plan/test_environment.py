"""plan/engine-variables and plan/network-interfaces, where the release or the sandbox makes the difference."""

from __future__ import annotations

import socket
from functools import partial
from pathlib import Path

import pytest

from healthcheck.ascend import stacks
from healthcheck.core.ledger import Ledger
from healthcheck.core.progress import Silent
from healthcheck.core.records import CheckResult, Level, Outcome
from healthcheck.sandbox import box
from healthcheck.sandbox.job import Limits, Mode
from healthcheck.stages.plan import facts
from healthcheck.stages.plan.checks import CHECKS
from healthcheck.stages.plan.vllm_cli.catalogue import retired_variables, variables, versions
from healthcheck.stages.repo.facts import read_submission
from tests.plan.corpus import bash, case, sh
from tests.support.plans import judged, write

READ, PLACED = "plan/engine-variables", "plan/network-interfaces"
SERVE = '\nexec vllm serve "$MODEL_PATH" --host 0.0.0.0 --port 8000'


def result(root: Path, weights: Path, setting: str, stack: str | None) -> CheckResult:
    script = sh(f"export {setting}{SERVE}")
    return judged(write(case("variables", script), root), weights, stack=stack)[1][READ]


@pytest.mark.process
@pytest.mark.parametrize(
    ("setting", "stack", "level", "says"),
    [
        ("VLLM_USE_FBGEMM=yes", None, Level.WARN, "vLLM 0.26.0 to 0.30.0 does not"),
        ("VLLM_USE_FBGEMM=yes", "0.18.0", Level.FAIL, "vLLM 0.18.0 reads it"),
        ("VLLM_USE_FBGEMM=yes", "0.30.0rc2", Level.NOTE, "vLLM 0.18.0, 0.23.0 does"),
        ("VLLM_USE_V1=1", "0.18.0", Level.NOTE, "vLLM 0.11.0 did"),
        ("VLLM_ASCEND_ENABLE_MLAPO=on", "0.18.0", Level.WARN, "vllm-ascend 0.18.0 ends with"),
        ("VLLM_ASCEND_KVPOOL_RANGE_DEBUG=2", "0.30.0rc2", Level.WARN, "vllm-ascend 0.30.0rc2"),
        ("VLLM_HTTP_TIMEOUT_KEEP_ALIVE=5s", "0.21.0rc1", Level.FAIL, "vLLM 0.18.0 reads it"),
        ("VLLM_RPC_TIMEOUT=5s", "0.21.0rc1", Level.WARN, "vLLM 0.21.0 itself is not catalogued"),
        ("VLLM_HTTP_TIMEOUT_KEEP_ALIVE=5s", "0.11.0", Level.WARN, "vLLM 0.11.0 itself is not"),
    ],
)
def test_the_chosen_release_decides(
    setting: str, stack: str | None, level: Level, says: str, tmp_path: Path, weights: Path
) -> None:
    (finding,) = result(tmp_path / "r", weights, setting, stack).findings
    assert (finding.level, finding.where) == (level, "deploy.sh:2"), finding
    assert says in finding.seen


@pytest.mark.process
def test_what_the_script_finds_on_this_machine_is_not_of_another(
    tmp_path: Path, weights: Path
) -> None:
    """Without namespaces, the script sees the interfaces and the name of this machine."""
    script = bash(f"""
        nic=$(ls /sys/class/net | grep -vx lo | sort | tail -n 1)
        export GLOO_SOCKET_IFNAME=$nic VLLM_HOST_IP=$(uname -n){SERVE}
        """)
    sandbox = partial(box.run, mode=Mode.CONFINED)
    submission = read_submission(write(case("looked-up", script), tmp_path / "r"))
    plan = facts.gather(submission, weights, limits=Limits(), sandbox=sandbox)
    ledger = Ledger(Silent())
    ledger.judge(CHECKS, lambda: plan)
    (placed,) = (each for each in ledger.results if each.id == PLACED)
    names = sorted({name for _, name in socket.if_nameindex()} - {"lo"})
    assert plan.server is not None
    assert plan.server.env["GLOO_SOCKET_IFNAME"] == "".join(names[-1:])
    assert (placed.outcome, placed.findings) == (Outcome.PASS, ())


def test_every_catalogue_has_variables_and_none_of_them_is_retired() -> None:
    known = {name for version in versions() for name in variables(version)}
    keep_alive = [variables(each)["VLLM_HTTP_TIMEOUT_KEEP_ALIVE"] for each in versions()]
    assert [each.accepts("5") for each in keep_alive] == [True] * len(versions())
    assert [each.accepts("5s") for each in keep_alive] == [False] * len(versions())
    assert retired_variables().keys().isdisjoint(known)


def test_each_row_of_a_catalogued_vllm_says_what_its_variables_accept() -> None:
    rows = [row for row in stacks.rows() if row.vllm[0] in versions()]
    assert [row.vllm_ascend for row in rows if not row.accepts] == []
    assert [row.vllm_ascend for row in rows if not set(row.accepts) <= set(row.variables)] == []
