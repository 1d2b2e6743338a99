"""The tests' own port: what else runs on this machine neither disturbs them nor makes them fail at once."""

from __future__ import annotations

import socket
import threading

import pytest

from tests.support.port import PORT, port_is_free, turn, wait_until_free

pytestmark = pytest.mark.process


def test_a_taken_port_is_no_obstacle_where_it_comes_free_in_time(port) -> None:
    with socket.create_server(("0.0.0.0", PORT)) as holder:
        assert not port()
        release = threading.Timer(0.5, holder.close)
        release.start()
        wait_until_free()
        release.join()
    assert port()
    assert port is port_is_free


def test_two_tests_have_the_port_one_after_the_other() -> None:
    steps = []
    first_is_in = threading.Event()

    def first() -> None:
        with turn():
            steps.append("first in")
            first_is_in.set()
            threading.Event().wait(0.3)
            steps.append("first out")

    thread = threading.Thread(target=first)
    thread.start()
    assert first_is_in.wait(60)
    with turn():
        steps.append("second in")
    thread.join()
    assert steps == ["first in", "first out", "second in"]
