"""Ports and processes as the operating system shows them."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import uuid

import pytest

from healthcheck.system import processes

pytestmark = pytest.mark.process

ADDRESSES = [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET, "0.0.0.0")]
if socket.has_ipv6:
    ADDRESSES += [(socket.AF_INET6, "::1"), (socket.AF_INET6, "::")]


def unheld_port() -> int:
    """Held in neither family: the system may give the number of one to a socket of the other."""
    while True:
        with socket.socket() as tried:
            tried.bind(("127.0.0.1", 0))
            port = tried.getsockname()[1]
        if not processes.holders(port):
            return port


@pytest.mark.parametrize(("family", "address"), ADDRESSES)
def test_whoever_listens_is_named(family, address):
    port = unheld_port()
    with socket.socket(family) as taken:
        taken.bind((address, port))
        taken.listen()
        (holder,) = processes.holders(port)
        assert (holder.address, holder.port, holder.listening) == (address, port, True)
        assert holder.process.pid == os.getpid()
        assert holder.loopback == (address in {"127.0.0.1", "::1"})
        assert str(os.getpid()) in str(holder.process)
    assert processes.holders(port) == ()


def test_a_socket_that_is_bound_and_does_not_listen_yet_holds_the_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        (holder,) = processes.holders(taken.getsockname()[1])
        assert not holder.listening
        assert holder.process is None


def test_a_connection_in_time_wait_does_not_hold_the_port():
    with socket.socket() as server:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        server.bind(("127.0.0.1", 0))
        server.listen()
        port = server.getsockname()[1]
        client = socket.create_connection(("127.0.0.1", port))
        accepted, _ = server.accept()
        accepted.close()
        assert client.recv(1) == b""
        client.close()
    assert processes.holders(port) == ()


def test_descendants_marks_and_activity():
    token = uuid.uuid4().hex
    script = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'sum(range(5_000_000)); print(1, flush=True); import time; time.sleep(600)'])"
    parent = subprocess.Popen(
        [sys.executable, "-c", script],
        env={**os.environ, "KIT_TEST_MARK": token},
        stdout=subprocess.PIPE,
    )
    try:
        parent.stdout.readline()
        below = processes.descendants(parent.pid)
        assert len(below) == 1
        assert {found.pid for found in processes.marked("KIT_TEST_MARK", token)} == {
            parent.pid,
            below[0].pid,
        }
        assert processes.activity([parent.pid, below[0].pid]).cpu_s > 0
        assert processes.process(parent.pid).command.startswith(sys.executable)
        assert processes.kill([*below]) == ()
        parent.wait(60)
    finally:
        parent.kill()
        parent.wait()
        parent.stdout.close()
    assert processes.process(parent.pid) is None
    assert processes.descendants(parent.pid) == ()


def test_a_reused_pid_is_spared():
    other = subprocess.Popen(["sleep", "600"])
    try:
        stale = processes.Process(pid=other.pid, command="sleep", started_s=1.0)
        assert processes.kill([stale]) == ()
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()


def test_who_is_gone_is_no_survivor_though_nobody_looked_in_time():
    other = subprocess.Popen(["sleep", "600"])
    victim = processes.process(other.pid)
    other.kill()
    other.wait()
    assert processes.kill([victim], wait_s=0) == ()
