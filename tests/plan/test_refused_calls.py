"""Where a sandbox without namespaces refused what a script needs, nothing that failed is the script's failure."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest

from healthcheck.core.check import fail
from healthcheck.core.ledger import Ledger
from healthcheck.core.progress import Silent
from healthcheck.core.records import CheckResult, Level, Outcome
from healthcheck.report import words
from healthcheck.sandbox import box
from healthcheck.sandbox.job import Limits, Mode
from healthcheck.sandbox.protocol import NO_OTHERS
from healthcheck.stages.plan import facts
from healthcheck.stages.plan.checks import CHECKS
from healthcheck.stages.plan.script.refusals import unsettle_failures
from healthcheck.stages.plan.servers.served import SETTLED_LATER
from healthcheck.stages.repo.facts import read_submission
from tests.plan.corpus import bash, case
from tests.support.daily import every
from tests.support.plans import write

pytestmark = pytest.mark.process

STARTS = 'exec vllm serve "$MODEL_PATH" --host 0.0.0.0 --port 8000'
TALKS = """perl -MSocket -e '
    socket(my $own, 2, 1, 6) or die "socket: $!\\n"; bind($own, pack_sockaddr_in(0, INADDR_LOOPBACK)); listen($own, 5);
    socket(my $client, 2, 1, 6); connect($client, getsockname($own)) or die "connect: $!\\n"' || exit 1
"""
"""Needs a network of its own, as a script with a helper may."""
LISTENS = """
import socket
try:
    socket.create_server(("127.0.0.1", 8009))
except OSError:
    raise SystemExit(1)
"""
BY_BASH = """vllm serve "$MODEL_PATH" --port 8000 &
for i in 1 2 3; do (: < /dev/tcp/127.0.0.1/8000) 2>/dev/null && wait; sleep 1; done
kill $!
exit 1"""
NEEDS = {
    "own-server": (TALKS + STARTS, "deploy.sh:3 needs a network"),
    "hidden-by-bash": (
        BY_BASH,
        "deploy.sh:3 needs a network",
    ),
    "hidden-by-python": (
        "python3 listens.py 2>/dev/null || exit 1\n" + STARTS,
        "one of its Python programs needs",
    ),
    "signal-by-priority": (
        "renice -n 1 -p $$ || exit 1\n" + STARTS,
        "deploy.sh:2 needs to change another process",
    ),
    "other-port": (
        "renice -n 1 -p $$ || PORT=9000\n" + STARTS.replace("8000", "${PORT-8000}"),
        "needs to change",
    ),
}
FAILS = {
    "own": "test -n '' || exit 1\n" + STARTS,
    "loop-on-another-port": 'vllm serve "$MODEL_PATH" & \nfor i in 1 2 3; do curl -sf localhost:8001 && wait; sleep 1; done'
    "\nkill $!\nexit 1",
}


ORDINARY = {
    "finds-weights": """test -n "$(find "$MODEL_PATH" -name '*.safetensors')" || exit 1\n"""
    + STARTS,
    "chmod": "chmod +x listens.py && test -x listens.py || exit 1\n" + STARTS,
    "ends-a-helper": "tail -f /dev/null & kill $! && wait $! || :\n" + STARTS,
}


def judged(tmp_path: Path, deploy: str, weights: Path, mode: Mode) -> dict[str, CheckResult]:
    repo = write(case("script", bash(deploy), files={"listens.py": LISTENS}), tmp_path / mode.value)
    sandbox = partial(box.run, mode=mode)
    plan = facts.gather(read_submission(repo), weights, limits=Limits(), sandbox=sandbox)
    ledger = Ledger(Silent())
    ledger.judge(CHECKS, lambda: plan)
    return {result.id: result for result in ledger.results}


@pytest.mark.parametrize("name", every(2, NEEDS))
def test_what_was_refused_is_inconclusive_and_names_the_line(
    name: str, tmp_path: Path, weights: Path
) -> None:
    deploy, says = NEEDS[name]
    confined = judged(tmp_path, deploy, weights, Mode.CONFINED)
    assert [result.id for result in confined.values() if result.outcome is Outcome.FAIL] == []
    findings = [
        finding for result in confined.values() if not result.settled for finding in result.findings
    ]
    assert findings
    assert any(says in finding.seen for finding in findings), findings
    assert all("user namespaces" in finding.fix for finding in findings)
    if name in {"own-server", "hidden-by-python"}:
        assert (
            judged(tmp_path, deploy, weights, Mode.ISOLATED)["plan/starts-server"].outcome
            is Outcome.PASS
        )


@pytest.mark.parametrize("name", every(2, FAILS))
def test_what_fails_by_itself_is_a_failure(name: str, tmp_path: Path, weights: Path) -> None:
    confined = judged(tmp_path, FAILS[name], weights, Mode.CONFINED)
    assert any(result.outcome is Outcome.FAIL for result in confined.values())


@pytest.mark.parametrize("name", every(2, ORDINARY))
def test_an_ordinary_step_is_judged_as_in_isolation(
    name: str, tmp_path: Path, weights: Path
) -> None:
    confined = judged(tmp_path, ORDINARY[name], weights, Mode.CONFINED)
    assert confined["plan/starts-server"].outcome is Outcome.PASS, confined[
        "plan/starts-server"
    ].findings


def test_the_words_before_a_command_are_its_own() -> None:
    run = SimpleNamespace(stderr=f"deploy.sh: line 3: {os.strerror(NO_OTHERS)}", stdout="")
    plan = SimpleNamespace(
        run=run, root="/srv", observed=SimpleNamespace(isolated=True), in_repository=str
    )
    found = fail(expected="a", seen="b", fix="commit x", command="git add x && git commit -m x")
    (shown,) = unsettle_failures(plan, [found])
    assert shown.level is Level.UNSETTLED
    assert words.repair(shown) == f"{SETTLED_LATER}; or commit x: git add x && git commit -m x"
