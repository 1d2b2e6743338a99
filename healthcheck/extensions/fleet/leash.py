"""Runs one `verify`, and ends it when its caller is gone.

It runs as a separate process, with the standard library only:

    python -I -S leash.py GRACE-SECONDS NETWORK LOG COMMAND [ARGUMENT …]

NETWORK is `node` or `own`: the command shares the node's network, or has its own, with the loopback alone. The
command runs in its own session; its output goes to the log. The standard input is a pipe from the caller. Its end
(kill -9 included) sends SIGINT to the command: `verify` ends its launch and writes its report. After the grace
period the command is killed, and the guardian of its launch ends the server. The exit status of the command,
negative for a signal, is written to the standard output. Ray kills the children of a worker that ends, so this
program forks and its parent exits: it is then nobody's child.
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
    # A shell's background job ignores these signals, and a worker of Ray blocks SIGINT; the command needs them.
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
    """Move this process to a new network with only the loopback, up; returns the error, or ""."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNET):
        return os.strerror(ctypes.get_errno())
    with socket.socket() as any_socket:
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", IFF_UP))
    return ""


def watched(child: subprocess.Popen[bytes], grace_s: float) -> int:
    """Wait for the command, or end it when the input ends; returns its exit status."""
    while child.poll() is None:
        ready, _, _ = select.select([0], [], [], TICK_S)
        if ready and not os.read(0, 4096):
            return ended(child, grace_s)
    return child.returncode


def ended(child: subprocess.Popen[bytes], grace_s: float) -> int:
    """End the command: SIGINT, then SIGKILL to its session after the grace period."""
    child.send_signal(signal.SIGINT)
    try:
        return child.wait(grace_s)
    except subprocess.TimeoutExpired:
        with contextlib.suppress(OSError):
            os.killpg(child.pid, signal.SIGKILL)
        return child.wait()


if __name__ == "__main__":
    main()
