"""Runs deploy.sh for the kit, and ends everything that deploy.sh started when the kit is gone.

It runs as a separate process in its own session, with the standard library only:

    python -I -S guardian.py PID-OF-THE-KIT

The first line on its standard input is the launch as JSON (argv, cwd, env, log, grace_s); later lines are commands,
`stop SECONDS` and `kill`. The end of that input means that the kit is gone, kill -9 included. It answers with one
JSON object a line. It is the reaper of its descendants (PR_SET_CHILD_SUBREAPER): a daemon that leaves its group,
its session and its parent is still a descendant and can be ended.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import time
from types import FrameType
from typing import TypedDict

TICK_S = 0.2
KILL_S = 10.0
PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
RESET = (
    signal.SIGINT,
    signal.SIGQUIT,
    signal.SIGHUP,
    signal.SIGTERM,
    signal.SIGCHLD,
    signal.SIGPIPE,
)


class Spec(TypedDict):
    """The launch, as the kit sends it; grace_s is the time before SIGKILL when the kit is gone."""

    argv: list[str]
    cwd: str
    env: dict[str, str]
    log: str
    grace_s: float


def prctl(option: int, value: int) -> bool:
    """Call prctl through the C library; False if it is not available."""
    try:
        import ctypes  # noqa: PLC0415 - missing from some builds of Python

        return bool(ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0) == 0)
    except (ImportError, OSError, AttributeError):
        return False


def descendants(root: int) -> dict[int, str]:
    """The living descendants of a process: pid to name."""
    parents: dict[int, tuple[int, str]] = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            with contextlib.suppress(OSError, ValueError):
                with open(f"/proc/{entry}/stat", "rb") as file:
                    name, _, rest = (
                        file.read().decode("utf-8", "replace").partition("(")[2].rpartition(")")
                    )
                state, parent = rest.split()[:2]
                if state not in "ZX":
                    parents[int(entry)] = (int(parent), name)
    found: dict[int, str] = {}
    generation = {root}
    while generation:
        generation = {
            pid for pid, (parent, _) in parents.items() if parent in generation
        } - found.keys()
        found |= {pid: parents[pid][1] for pid in generation}
    return found


def send(pids: dict[int, str], number: signal.Signals) -> None:
    """Signal each process; skips those that are gone or belong to another user."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


class Guardian:
    """One launch, from its start to the end of the last process below it."""

    def __init__(self, kit: int) -> None:
        self.kit = kit
        self.main = 0
        self.held = b""
        self.gone = False
        self.asked_to_end = False
        self.grace_s = 5.0

    def run(self) -> None:
        spec: Spec = json.loads(self._first_line())
        self.grace_s = spec["grace_s"]
        self._launch(spec)
        while True:
            commands = self._listen()
            self._reap()
            for word, seconds in commands:
                killed = self._end(0.0 if word == "kill" else seconds)
                self._say(event="ended", killed=killed, left=descendants(os.getpid()))
            if self.gone or self.asked_to_end:
                self._end(self.grace_s)
                return

    def ask_to_end(self, _number: int, _frame: FrameType | None) -> None:
        self.asked_to_end = True

    def _launch(self, spec: Spec) -> None:
        log = os.open(spec["log"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            child = subprocess.Popen(
                spec["argv"],
                cwd=spec["cwd"],
                env=spec["env"],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                preexec_fn=lambda: prctl(PR_SET_PDEATHSIG, signal.SIGKILL),  # noqa: PLW1509 - no threads here
            )
        except OSError as error:
            self._say(event="failed", text=f"{error.strerror}: {error.filename or spec['argv'][0]}")
            return
        finally:
            os.close(log)
        self.main = child.pid
        child.returncode = 0  # its status is read by _reap, together with that of every orphan
        self._say(event="started", pid=child.pid)

    def _first_line(self) -> bytes:
        while b"\n" not in self.held:
            data = os.read(0, 65536)
            if not data:
                sys.exit(0)
            self.held += data
        line, _, self.held = self.held.partition(b"\n")
        return line

    def _listen(self) -> list[tuple[str, float]]:
        """The commands that came within one tick; also notices when the kit is gone."""
        if select.select([0], [], [], TICK_S)[0]:
            data = os.read(0, 65536)
            self.gone = self.gone or not data
            self.held += data
        if os.getppid() != self.kit:
            self.gone = True
        *lines, self.held = self.held.split(b"\n")
        words = [line.decode().split() for line in lines if line.strip()]
        return [(word[0], float(word[1]) if len(word) > 1 else 0.0) for word in words]

    def _reap(self) -> None:
        with contextlib.suppress(ChildProcessError):
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if not pid:
                    return
                if pid == self.main:
                    self._say(event="exited", status=os.waitstatus_to_exitcode(status))

    def _end(self, grace_s: float) -> dict[int, str]:
        """Send SIGTERM to every descendant, wait, then send SIGKILL until none is left; returns the killed ones."""
        began = time.monotonic()
        left = descendants(os.getpid())
        if grace_s > 0:
            send(left, signal.SIGTERM)
            send(left, signal.SIGCONT)
        while left and time.monotonic() - began < grace_s:
            grace_s = self._shortened(grace_s)
            self._reap()
            left = descendants(os.getpid())
        killed, began = dict(left), time.monotonic()
        while left and time.monotonic() - began < KILL_S:
            send(left, signal.SIGKILL)
            time.sleep(0.02)
            self._reap()
            left = descendants(os.getpid())
            killed |= left
        return killed

    def _shortened(self, grace_s: float) -> float:
        """The grace period: 0 after `kill`, and at most the guardian's own once the kit is gone."""
        if self.gone:
            time.sleep(TICK_S)
            return min(grace_s, self.grace_s)
        commands = self._listen()
        return 0.0 if any(word == "kill" for word, _ in commands) else grace_s

    def _say(self, **event: object) -> None:
        """Report to the kit, if it is still there."""
        with contextlib.suppress(OSError):
            os.write(1, json.dumps(event).encode() + b"\n")


def main() -> None:
    """Run one launch. Resets signals so that deploy.sh starts as from a fresh login."""
    for number in RESET:
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    guardian = Guardian(int(sys.argv[1]))
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)  # Popen restores the default in the child
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, guardian.ask_to_end)
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    guardian.run()


if __name__ == "__main__":
    main()
