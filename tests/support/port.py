"""Port 8000 for the tests that launch a server on it, whatever else this machine runs there."""

from __future__ import annotations

import ctypes
import fcntl
import os
import socket
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from tests.service.launching import eventually

PORT = 8000
WAIT_S = 120.0
_NEW_NETWORK = 0x40000000  # CLONE_NEWNET in linux/sched.h
_SET_FLAGS = 0x8914  # SIOCSIFFLAGS in linux/sockios.h
_UP = 1  # IFF_UP in linux/if.h


@contextmanager
def the_port() -> Iterator[Callable[[], bool]]:
    """Reserve the port; yields a function that returns whether it is free. Uses a network namespace if allowed."""
    with _own_network(), turn():
        wait_until_free()
        yield port_is_free


@contextmanager
def turn() -> Iterator[None]:
    """Let one test of this network run at a time, in whichever process.

    The abstract socket name belongs to the network, like the port, and the kernel frees it when a process ends.
    """
    with socket.socket(socket.AF_UNIX) as name:
        if not eventually(lambda: _bound(name, f"\0npu-adapter tests on port {PORT}"), WAIT_S):
            pytest.fail(f"other tests have had port {PORT} for {WAIT_S:.0f} s")
        yield


def wait_until_free() -> None:
    if not eventually(port_is_free, WAIT_S):
        pytest.fail(f"port {PORT} is taken on this machine: these tests launch servers on it")


def port_is_free() -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        return _bound(probe, ("0.0.0.0", PORT))


def _bound(any_socket: socket.socket, address: str | tuple[str, int]) -> bool:
    try:
        any_socket.bind(address)
    except OSError:
        return False
    return True


@contextmanager
def _own_network() -> Iterator[None]:
    """Move this thread and its children to a network namespace for a while; does nothing if that is forbidden."""
    libc = ctypes.CDLL(None, use_errno=True)
    with open("/proc/thread-self/ns/net", "rb") as before:
        made = libc.unshare(_NEW_NETWORK) == 0
        try:
            if made:
                with socket.socket() as any_socket:
                    fcntl.ioctl(any_socket, _SET_FLAGS, struct.pack("16sh14x", b"lo", _UP))
            yield
        finally:
            if made and libc.setns(before.fileno(), _NEW_NETWORK):
                raise OSError(
                    ctypes.get_errno(),
                    f"the network is not back: {os.strerror(ctypes.get_errno())}",
                )
