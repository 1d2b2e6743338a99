"""Every way in which a launch can come out, with real shells, processes and sockets."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from dataclasses import replace

import pytest

from healthcheck.core.progress import Silent
from healthcheck.core.records import Outcome
from healthcheck.stages.service.checks import END_CHECKS, PORT_CHECKS, START_CHECKS
from healthcheck.stages.service.facts import gather_port
from healthcheck.stages.service.records import LaunchOutcome
from healthcheck.stages.service.watch import Patience, Stillness
from healthcheck.stages.service.work import Work
from healthcheck.system.processes import Activity
from tests.service.launching import QUICK, SERVER, free_port, seen_in, service
from tests.support.daily import every

(port_free,), (starts,), (stays_up, stops) = PORT_CHECKS, START_CHECKS, END_CHECKS
IDLE = Patience(deadline_s=120, silence_s=8, answer_s=8, tick_s=0.1)
"""Waits until nothing moves any more, however long a server takes to start on a busy machine."""


@pytest.mark.process
def test_a_server_in_the_foreground_is_ready_serves_and_stops(tmp_path):
    with service(tmp_path, "exec SERVER PORT") as running:
        launch = running.launch
        assert launch.outcome is LaunchOutcome.READY
        assert launch.model == str(tmp_path / "my weights 权重")
        assert [listener.process.pid for listener in launch.listeners] == [launch.pid]
        assert starts.judge(launch).outcome is Outcome.PASS
        assert running.alive().running
        ended = running.ended()
    assert not ended.stopped.survivors
    assert not ended.stopped.killed
    assert not ended.stopped.holders
    assert stays_up.judge(ended).outcome is Outcome.PASS
    assert stops.judge(ended).outcome is Outcome.PASS
    assert running.stop() is running.stop()


@pytest.mark.process
def test_loading_answers_are_waited_for(tmp_path):
    with service(tmp_path, "exec SERVER PORT loading") as running:
        assert running.launch.outcome is LaunchOutcome.READY


LOADER = f"'{sys.executable}' -c 'import time\nend = time.monotonic() + 6\nwhile time.monotonic() < end: pass\nopen(\"loaded\", \"w\")'"


@pytest.mark.slow
@pytest.mark.parametrize(
    "script",
    [
        f"{LOADER} & exec SERVER PORT gateway",
        f"{LOADER} & exec SERVER PORT registry",
        f"echo 'Uvicorn running on http://0.0.0.0:OTHER'; SERVER OTHER & {LOADER}; exec SERVER PORT",
    ],
    ids=[
        "a gateway that says 500",
        "a gateway that knows no model",
        "backends announced on their own ports",
    ],
)
def test_a_gateway_in_front_of_a_model_that_loads_is_waited_for(tmp_path, script):
    """As LiteLLM, FastChat and routers do; the refusals last longer than a server that is idle would be given."""
    patience = replace(QUICK, other_port_s=4)
    with service(tmp_path, script.replace("OTHER", str(free_port())), patience=patience) as running:
        assert running.launch.outcome is LaunchOutcome.READY
        assert starts.judge(running.launch).outcome is Outcome.PASS


@pytest.mark.process
def test_a_first_answer_of_nothing_but_thoughts_is_an_answer(tmp_path):
    with service(tmp_path, "exec SERVER PORT thoughts") as running:
        assert running.launch.outcome is LaunchOutcome.READY


CASES = {
    "a gateway without a model": (
        "exec SERVER PORT registry",
        LaunchOutcome.ANSWERS_WRONGLY,
        "no worker is there",
    ),
    "exits while loading": (
        "echo loading; sleep 0.3; exit 3",
        LaunchOutcome.EXITED,
        "exit status 3",
    ),
    "is killed": ("kill -9 $$", LaunchOutcome.EXITED, "killed by SIGKILL"),
    "a child is killed": ("sh -c 'kill -9 $$'; exit $?", LaunchOutcome.EXITED, "SIGKILL"),
    "ends at once": ("exit 0", LaunchOutcome.EXITED, "left no process"),
    "a missing program": ("exec nosuchprogram serve", LaunchOutcome.EXITED, "command not found"),
    "its shell is missing": ("#!/nosuch/shell\nexit 0", LaunchOutcome.NOT_STARTED, "/nosuch/shell"),
    "a daemon that dies": ("sleep 6 &\nexit 0", LaunchOutcome.BACKGROUNDED, "in the background"),
    "another port": (
        "echo 'Uvicorn running on http://0.0.0.0:OTHER'; exec SERVER OTHER",
        LaunchOutcome.OTHER_PORT,
        "listens on 0.0.0.0:OTHER",
    ),
    "another port, unsaid": (
        "exec SERVER OTHER",
        LaunchOutcome.OTHER_PORT,
        "listens on 0.0.0.0:OTHER",
    ),
    "refuses chats": (
        "exec SERVER PORT refuses",
        LaunchOutcome.ANSWERS_WRONGLY,
        "you must provide a chat template",
    ),
    "fails on chats": ("exec SERVER PORT breaks", LaunchOutcome.ANSWERS_WRONGLY, "something broke"),
    "does not stream": (
        "exec SERVER PORT plain",
        LaunchOutcome.ANSWERS_WRONGLY,
        "application/json",
    ),
    "dies of the first chat": (
        "exec SERVER PORT dies",
        LaunchOutcome.EXITED,
        "the first request was too much",
    ),
    "a restart loop": (
        "while :; do python3 -c 'raise SystemExit(\"RuntimeError: no\")'; sleep 0.3; done",
        LaunchOutcome.RESTARTING,
        "was started",
    ),
    "nothing happens": ("sleep 60", LaunchOutcome.SILENT, "nobody listens"),
}


UNSAID = {LaunchOutcome.SILENT, LaunchOutcome.OTHER_PORT}


@pytest.mark.process
@pytest.mark.parametrize("case", every(3, CASES))
def test_a_failed_launch_is_named_for_what_it_is(tmp_path, case):
    script, outcome, said = CASES[case]
    other = str(free_port())
    patience = QUICK if "OTHER" in script.partition("exec")[0] or outcome not in UNSAID else IDLE
    with service(tmp_path, script.replace("OTHER", other), patience=patience) as running:
        launch = running.launch
    assert launch.outcome is outcome
    result = starts.judge(launch)
    assert result.outcome is Outcome.FAIL
    assert said.replace("OTHER", other) in seen_in(result)
    assert not running.stop().survivors


@pytest.mark.process
def test_a_deadline_ends_the_wait_for_a_server_that_is_busy(tmp_path):
    busy = Patience(deadline_s=2, silence_s=30, tick_s=0.1)
    with service(
        tmp_path, "while :; do echo still loading; sleep 0.2; done", patience=busy
    ) as running:
        launch = running.launch
    assert launch.outcome is LaunchOutcome.TIMED_OUT
    assert "raise --deadline" in seen_in(starts.judge(launch))


@pytest.mark.process
def test_a_cause_in_a_file_of_deploy_sh_s_own_is_found(tmp_path):
    """`nohup … > server.log` leaves the kit's log empty."""
    said, looked_at = tmp_path / "said", tmp_path / "looked at"
    script = (
        f"(echo 'RuntimeError: Cannot find any model weights with `w`'; touch '{said}'\n"
        f"until [ -e '{looked_at}' ]; do sleep 0.1; done) > server.log 2>&1\nexit 1"
    )

    class Looking(Silent):
        seen = False

        def update(self, text, *, done=0, total=0):
            if self.seen:
                looked_at.touch()
            self.seen = said.exists()

    with service(tmp_path, script, progress=Looking()) as running:
        launch = running.launch
    assert launch.diagnosis.cause.failure.id == "weights-none"
    assert "server.log:1: RuntimeError: Cannot find" in seen_in(starts.judge(launch))


@pytest.mark.process
def test_a_missing_deploy_sh_is_said(tmp_path):
    unlaunched = service(tmp_path, "exit 0")
    (tmp_path / "export" / "deploy.sh").unlink()
    with unlaunched as running:
        assert running.launch.outcome is LaunchOutcome.NOT_STARTED
    assert "deploy.sh cannot be read" in seen_in(starts.judge(running.launch))


@pytest.mark.process
def test_a_script_that_polls_while_its_server_loads_is_no_restart_loop(tmp_path):
    loader = (
        "import os, sys, time\n"
        'while open(sys.argv[1]).read().count("ConnectionRefusedError") < 3: time.sleep(0.1)\n'
        "os.execvp(sys.argv[2], sys.argv[2:])"
    )
    poll = "python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", PORT)).close()'"
    with service(
        tmp_path,
        f"python3 -c '{loader}' '{tmp_path}/deploy.log' SERVER PORT &\nuntil {poll}; do sleep 0.1; done\nwait",
    ) as running:
        assert running.launch.outcome is LaunchOutcome.READY
    assert running.launch.log.read_text().count("ConnectionRefusedError") >= 3


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mode", "heard"),
    [
        ("mute", "nothing at all comes, to GET /v1/models neither"),
        ("hangs", "GET /v1/models was answered with HTTP 200, and to the chat nothing"),
    ],
)
def test_a_server_that_takes_requests_and_does_nothing_is_given_up_early_and_named(
    tmp_path, mode, heard
):
    quiet = Patience(deadline_s=600, silence_s=600, answer_s=8, tick_s=0.1)
    with service(tmp_path, f"exec SERVER PORT {mode}", patience=quiet) as running:
        launch = running.launch
    assert launch.outcome is LaunchOutcome.SILENT
    result = starts.judge(launch)
    assert result.outcome is Outcome.FAIL
    assert "connections are accepted" in seen_in(result)
    assert heard in seen_in(result)
    assert "no process has done anything" in seen_in(result)


@pytest.mark.slow
def test_a_silent_server_that_works_is_waited_for(tmp_path):
    """As one whose workers load, or whose first answer compiles: longer than an idle one would be given.

    The wait is long because a starved machine may show no CPU time of the server for seconds.
    """
    quiet = Patience(deadline_s=120, silence_s=600, answer_s=15, tick_s=0.1)
    with service(tmp_path, "exec SERVER PORT slow 0.0.0.0 20", patience=quiet) as running:
        assert running.launch.outcome is LaunchOutcome.READY


LIMIT_S = 180.0


@pytest.mark.parametrize(
    ("moves", "still"),
    [
        (lambda at_s: (Activity(cpu_s=0.006 * at_s), 0), False),
        (lambda at_s: (Activity(io_bytes=2**15 * at_s), 0), False),
        (lambda at_s: (Activity(), at_s // 60), False),
        (lambda at_s: (Activity(cpu_s=0.001 * at_s, io_bytes=2**10 * at_s), 7), True),
    ],
    ids=["computes", "reads", "writes its log", "only its keepalive"],
)
def test_work_of_any_kind_is_no_silence(moves, still):
    stillness, longest_s = Stillness(), 0.0
    for at_s in range(1, 600):
        longest_s = max(longest_s, stillness.look(*moves(at_s), at_s, LIMIT_S))
    assert (longest_s >= LIMIT_S) is still


@pytest.mark.parametrize(
    ("moves", "busy"),
    [
        (lambda at_s: Activity(cpu_s=0.3 * at_s), True),
        (lambda at_s: Activity(io_bytes=2**24 * at_s), True),
        (lambda at_s: Activity(cpu_s=5 - at_s % 4), True),
        (lambda at_s: Activity(cpu_s=0.03 * at_s, io_bytes=2**16 * at_s), False),
    ],
    ids=["computes", "reads", "its processes end", "answers the kit"],
)
def test_work_in_earnest_is_told_from_answering_the_kit(moves, busy):
    work, longest_s = Work(), 0.0
    for at_s in range(1, 300):
        work.look(moves(at_s), at_s)
        longest_s = max(longest_s, work.quiet_s(at_s))
    assert (longest_s < 30) is busy


@pytest.mark.process
def test_progress_says_what_is_waited_for_and_until_when(tmp_path):
    class SaidError(Exception):
        pass

    class Listening(Silent):
        def update(self, text, *, done=0, total=0):
            if "gives up in 1:" in text and "is open, no answer yet" in text:
                raise SaidError

    patience = Patience(deadline_s=120, silence_s=600, answer_s=600, tick_s=0.1)
    with (
        pytest.raises(SaidError),
        service(tmp_path, "exec SERVER PORT mute", patience=patience, progress=Listening()),
    ):
        pass


@pytest.mark.process
def test_silence_ends_the_wait(tmp_path):
    quiet = Patience(deadline_s=600, silence_s=1, tick_s=0.1)
    with service(tmp_path, "sleep 600", patience=quiet) as running:
        assert running.launch.outcome is LaunchOutcome.SILENT
    assert "no process has done anything" in seen_in(starts.judge(running.launch))


@pytest.mark.process
def test_a_background_server_that_answers_is_not_judged_and_is_stopped(tmp_path):
    script = "setsid nohup SERVER PORT answers 127.0.0.1 >/dev/null 2>&1 &\nexit 0"
    with service(tmp_path, script) as running:
        assert running.launch.outcome is LaunchOutcome.READY
        result = starts.judge(running.launch)
        ended = running.ended()
    assert (result.outcome, result.settled) == (Outcome.SKIP, False)
    assert "in the background" in seen_in(result)
    assert "--host 0.0.0.0" in seen_in(result)
    assert stops.judge(ended).outcome is Outcome.PASS


@pytest.mark.process
@pytest.mark.skipif(not socket.has_ipv6, reason="no IPv6 here")
def test_a_server_on_ipv6_only_is_reached(tmp_path):
    with service(tmp_path, "exec SERVER PORT answers ::1") as running:
        assert running.launch.outcome is LaunchOutcome.READY
        assert "[::1]" in running.url


@pytest.mark.process
def test_a_server_that_was_not_started_by_deploy_sh_is_not_taken_for_it(tmp_path):
    """The port is free before the launch, and somebody else is there first."""
    port = free_port()
    trigger = tmp_path / "now"
    stranger = subprocess.Popen(
        ["sh", "-c", f"while ! [ -e '{trigger}' ]; do sleep 0.05; done; exec {SERVER} {port}"],
        start_new_session=True,
    )
    try:
        with service(tmp_path, f"touch '{trigger}'; sleep 60", port=port) as running:
            launch = running.launch
            ended = running.ended()
        assert launch.outcome is LaunchOutcome.FOREIGN_LISTENER
        result = starts.judge(launch)
        assert not result.settled
        assert str(stranger.pid) in seen_in(result)
        assert stops.judge(ended).outcome is Outcome.PASS
        assert stranger.poll() is None, "what the launch did not start is not the kit's to kill"
    finally:
        stranger.kill()
        stranger.wait()


@pytest.mark.process
def test_a_taken_port_is_named_and_nothing_is_launched(tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        result = port_free.judge(gather_port(port))
        assert result.outcome is Outcome.SKIP
        assert not result.settled
        assert str(os.getpid()) in seen_in(result)
        with service(tmp_path, f"touch '{tmp_path}/ran'; exit 0", port=port) as running:
            assert running.launch.outcome is LaunchOutcome.PORT_TAKEN
    assert not (tmp_path / "ran").exists()
    assert not starts.judge(running.launch).settled


@pytest.mark.process
def test_a_free_port_passes():
    assert port_free.judge(gather_port(free_port())).outcome is Outcome.PASS


@pytest.mark.process
def test_deploy_sh_sees_the_weights_the_folder_and_little_else(tmp_path, monkeypatch):
    monkeypatch.setenv("VLLM_PLUGINS", "mine")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    monkeypatch.setenv("ASCEND_HOME_PATH", "/usr/local/Ascend/latest")
    script = f"""'{sys.executable}' -c '
import json, os, sys
print(json.dumps({{"env": dict(os.environ), "cwd": os.getcwd(), "tty": sys.stdout.isatty(), "in": sys.stdin.read()}}))
'; [ -t 0 ] || exit 5"""
    with service(tmp_path, script, environment={"VLLM_CPU_KVCACHE_SPACE": "1"}) as running:
        launch = running.launch
    seen = json.loads(launch.log.read_text())
    assert seen["env"]["MODEL_PATH"] == str(tmp_path / "my weights 权重")
    assert seen["env"]["VLLM_CPU_KVCACHE_SPACE"] == "1"
    assert seen["env"]["ASCEND_HOME_PATH"] == "/usr/local/Ascend/latest"
    assert (
        not {"VLLM_PLUGINS", "http_proxy", "PYTEST_CURRENT_TEST", "VIRTUAL_ENV"}
        & seen["env"].keys()
    )
    assert seen["cwd"] == str(tmp_path / "export")
    assert (seen["tty"], seen["in"], launch.exit_status) == (False, "", 5)
    assert {"VLLM_PLUGINS", "http_proxy"} <= set(launch.withheld)
