"""A restart loop is told from programs that poll, by made-up processes; test_launch.py has real ones."""

from __future__ import annotations

import pytest

from healthcheck.stages.service.restarts import WITH_SAME_ERROR, WITHOUT_ERROR, Restarts
from healthcheck.system.processes import Process

ERROR = "RuntimeError: no"


def server(number: int) -> Process:
    """The one that is started again and again: at 100 s, 200 s, 300 s …"""
    return Process(pid=number, command="vllm serve /m", started_s=100.0 * number)


def loop(starts: int, *others: Process, errors: int = 0) -> tuple[str, int] | None:
    """The loop that is seen after so many starts, while others run beside the last one."""
    restarts = Restarts()
    for number in range(1, starts + 1):
        restarts.look([server(number)], [ERROR] if number <= errors else [])
    return restarts.loop([server(starts), *others])


@pytest.mark.parametrize(
    ("starts", "errors", "seen"),
    [
        (WITH_SAME_ERROR, WITH_SAME_ERROR, True),
        (WITH_SAME_ERROR - 1, WITH_SAME_ERROR, False),
        (WITHOUT_ERROR - 1, WITH_SAME_ERROR - 1, False),
        (WITHOUT_ERROR, 0, True),
    ],
)
def test_a_loop_takes_less_patience_where_the_log_has_the_same_error(
    starts: int, errors: int, seen: bool
) -> None:
    assert loop(starts, errors=errors) == (("vllm serve /m", starts) if seen else None)


@pytest.mark.parametrize(
    ("command", "started_s", "seen"),
    [
        ("python load.py", 50.0, False),
        ("python load.py", 750.0, True),
        ("python load.py", 650.0, False),
        ("sleep 60", 50.0, True),
        ("bash deploy.sh", 50.0, True),
    ],
    ids=["before all", "in the last round", "in the round before it", "a sleep", "a shell"],
)
def test_a_program_that_lives_through_restarts_shows_that_there_is_no_loop(
    command: str, started_s: float, seen: bool
) -> None:
    other = Process(pid=99, command=command, started_s=started_s)
    assert (loop(8, other) is not None) is seen


def test_a_program_that_runs_twice_at_once_is_no_loop() -> None:
    assert loop(8, Process(pid=99, command="vllm serve /m", started_s=850.0)) is None
