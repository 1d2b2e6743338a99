"""A server that ends by itself, that was told to stop, or that is replaced."""

from __future__ import annotations

import os

import pytest

from healthcheck.core.records import Outcome
from healthcheck.stages.service.checks import END_CHECKS, START_CHECKS
from healthcheck.stages.service.records import LaunchOutcome
from tests.service.launching import eventually, seen_in, service

pytestmark = pytest.mark.process

(starts,), (stays_up, _) = START_CHECKS, END_CHECKS


def test_a_server_that_dies_after_the_first_answer_is_reported_with_its_cause(tmp_path):
    dies = "echo 'OSError: [Errno 28] No space left on device'; kill -9 $server; exit 1"
    with service(
        tmp_path, f"SERVER PORT & server=$!; until [ -e full ]; do sleep 0.1; done; {dies}"
    ) as running:
        assert running.launch.outcome is LaunchOutcome.READY
        (tmp_path / "export" / "full").touch()
        assert eventually(lambda: not running.alive().running)
        ended = running.ended()
    result = stays_up.judge(ended)
    assert result.outcome is Outcome.FAIL
    assert "No space left on device" in seen_in(result)


STOPPED = {
    "by SIGTERM": ("kill -TERM $$", "killed by SIGTERM"),
    "a child by SIGTERM": ("sh -c 'kill -TERM $$'; exit $?", "SIGTERM"),
    "as vLLM says": (
        "echo '[shutdown] EngineCore: trigger received signal=SIGTERM'; echo 'EngineDeadError: issue'; exit 1",
        "trigger received signal=SIGTERM",
    ),
}


@pytest.mark.parametrize("case", STOPPED)
def test_a_server_that_was_told_to_stop_while_it_loaded_leaves_the_start_open(tmp_path, case):
    script, said = STOPPED[case]
    with service(tmp_path, script) as running:
        result = starts.judge(running.launch)
    assert not result.settled
    assert said in seen_in(result)
    assert "EngineDeadError:" not in seen_in(result)


def test_a_time_limit_of_deploy_sh_itself_is_a_failure(tmp_path):
    with service(
        tmp_path, "echo '[shutdown] API server: shutdown triggered'; timeout 0.1 sleep 60"
    ) as running:
        assert starts.judge(running.launch).outcome is Outcome.FAIL


def test_a_server_that_was_told_to_stop_after_the_first_answer_leaves_it_open(tmp_path):
    with service(tmp_path, "echo $$ > pid; exec SERVER PORT") as running:
        assert running.launch.outcome is LaunchOutcome.READY
        os.kill(int((tmp_path / "export" / "pid").read_text()), 15)
        assert eventually(
            lambda: not running.alive().running and running.alive().exit_status is not None
        )
        result = stays_up.judge(running.ended())
    assert not result.settled
    assert "SIGTERM" in seen_in(result)


def test_a_server_that_is_replaced_is_no_longer_the_one_that_answered(tmp_path):
    script = "while :; do SERVER PORT & echo $! > pid; wait; sleep 0.2; done"
    with service(tmp_path, script) as running:
        assert running.launch.outcome is LaunchOutcome.READY
        os.kill(int((tmp_path / "export" / "pid").read_text()), 9)
        assert eventually(lambda: running.alive().restarted)
        result = stays_up.judge(running.ended())
    assert result.outcome is Outcome.FAIL
    assert "started again" in seen_in(result)
