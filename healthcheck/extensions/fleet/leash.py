"""Runs one `verify`, and ends it when whoever started it is gone.

It runs as a process of its own, with the standard library only:

    python -I -S leash.py GRACE-SECONDS NETWORK LOG COMMAND [ARGUMENT …]

NETWORK is `node` or `own`: the command shares the node's network, or has one of its own, with the loopback alone.

The command runs in a session of its own; both of its outputs go to the log. The standard input is a pipe from
whoever started it. Its end (kill -9 included) sends SIGINT to the command: `verify` ends its launch and writes its
report. After the grace period it is killed, and the guardian of its launch ends the server. The exit status of
the command, negative for a signal, is written to the standard output.

A worker of Ray has its children killed when it ends. So this forks, and its parent ends: it is a child of nobody.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import select
import signal
import socket
import struct
import subprocess
import sys

TICK_S = 0.1
CLONE_NEWNET = 0x40000000  # linux/sched.h
SIOCSIFFLAGS = 0x8914  # linux/sockios.h
IFF_UP = 1  # linux/if.h


def main() -> None:
    _, grace, network, log, *command = sys.argv
    if os.fork():
        os._exit(0)
    os.setsid()
    # A shell's background job ignores these signals, and a worker of Ray blocks SIGINT; the command must hear them.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    with open(log, "ab") as output:
        if network == "own" and (why := own_network()):
            output.write(f"this node cannot give a launch a network of its own: {why}\n".encode())
            return
        child = subprocess.Popen(
            command,
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    status = watched(child, float(grace))
    with contextlib.suppress(OSError):
        os.write(1, b"%d\n" % status)


def own_network() -> str:
    """Move this process to a new network, in which only the loopback is there and up; why not, "" if it did."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNET):
        return os.strerror(ctypes.get_errno())
    with socket.socket() as any_socket:
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", IFF_UP))
    return ""


def watched(child: subprocess.Popen[bytes], grace_s: float) -> int:
    """Wait for the command, or end it when the input ends; its exit status."""
    while child.poll() is None:
        ready, _, _ = select.select([0], [], [], TICK_S)
        if ready and not os.read(0, 4096):
            return ended(child, grace_s)
    return child.returncode


def ended(child: subprocess.Popen[bytes], grace_s: float) -> int:
    """End the command: SIGINT, and SIGKILL to its session after the grace period."""
    child.send_signal(signal.SIGINT)
    try:
        return child.wait(grace_s)
    except subprocess.TimeoutExpired:
        with contextlib.suppress(OSError):
            os.killpg(child.pid, signal.SIGKILL)
        return child.wait()


if __name__ == "__main__":
    main()
