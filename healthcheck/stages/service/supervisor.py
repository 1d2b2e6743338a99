"""The kit's side of the guardian: starts it, receives the state of deploy.sh, and tells it to stop."""

from __future__ import annotations

import contextlib
import os
import secrets
import select
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from healthcheck.errors import KitFailure
from healthcheck.system import processes, programs
from healthcheck.system.json_text import JsonError, dump_line, load
from healthcheck.system.processes import Process
from healthcheck.text.messages import msg

MARKER = "NPU_ADAPTER_LAUNCH"
"""Set in the environment of deploy.sh: its value identifies the processes of the launch."""
STARTING_S = 60.0
"""For a bare Python on a machine that is busy loading; the end of its output is noticed at once."""
ORPHAN_GRACE_S = 5.0
"""The grace period once the kit is gone: whoever killed the kit wants the processes to end."""


class Supervisor:
    """deploy.sh and all its descendants.

    Attributes:
        pid: the process of deploy.sh, None before it runs.
        failure: why deploy.sh could not be started, or "".
        exit_status: of deploy.sh, negative for a signal, None while it runs.
        killed: names of processes that SIGTERM did not end within the grace period, by pid.
        survivors: processes that even SIGKILL did not end.
    """

    def __init__(
        self, argv: Sequence[str], *, cwd: Path, env: Mapping[str, str], log: Path
    ) -> None:
        self.pid: int | None = None
        self.failure = ""
        self.exit_status: int | None = None
        self.killed: tuple[tuple[int, str], ...] = ()
        self.survivors: tuple[Process, ...] = ()
        self._ended = False
        self._held = b""
        self._token = secrets.token_hex(8)
        self._known: dict[int, Process] = {}
        guardian = (
            programs.python(),
            "-I",
            "-S",
            str(Path(__file__).with_name("guardian.py")),
            str(os.getpid()),
        )
        self._guardian = processes.started(
            guardian, cwd="/", env=os.environ, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        assert self._guardian.stdin is not None
        assert self._guardian.stdout is not None
        self._requests, self._answers = self._guardian.stdin, self._guardian.stdout
        try:
            self._start(argv, cwd, env, log)
        except BaseException:
            self.stop(0)
            raise

    def _start(self, argv: Sequence[str], cwd: Path, env: Mapping[str, str], log: Path) -> None:
        launch = {
            "argv": list(argv),
            "cwd": str(cwd),
            "env": {**env, MARKER: self._token},
            "log": str(log),
            "grace_s": ORPHAN_GRACE_S,
        }
        self._tell(dump_line(launch))
        while self.pid is None and not self.failure and self._hear(STARTING_S):
            pass
        if self.pid is None and not self.failure:
            raise KitFailure(msg("the process that supervises deploy.sh did not start"))

    @property
    def lost(self) -> bool:
        """Whether the guardian itself was killed; deploy.sh dies with it."""
        return self._guardian.poll() is not None

    def poll(self) -> None:
        """Read the messages of the guardian."""
        while self._hear(0):
            pass

    def tree(self) -> tuple[Process, ...]:
        """The living processes of the launch, deploy.sh first."""
        below = processes.descendants(self._guardian.pid)
        if not below and self.lost:
            below = processes.marked(MARKER, self._token)
        self._known |= {found.pid: found for found in below}
        return below

    def stop(self, grace_s: float) -> None:
        """End every process of the launch: SIGTERM, `grace_s` seconds, SIGKILL. Ctrl-C ends the wait."""
        self.tree()
        try:
            self._tell(f"stop {grace_s}\n".encode())
            self._await_end(grace_s + 15)
        except KeyboardInterrupt:
            self._tell(b"kill\n")
            self._await_end(15)
            raise
        finally:
            self.survivors = self._sweep()

    def _await_end(self, limit_s: float) -> None:
        end = time.monotonic() + limit_s
        while not self._ended and time.monotonic() < end and self._guardian.poll() is None:
            self._hear(0.2)
        self.poll()

    def _sweep(self) -> tuple[Process, ...]:
        """Let the guardian end, and kill any process it left: the guardian itself may have been killed."""
        with contextlib.suppress(BrokenPipeError):
            self._requests.close()
        try:
            self._guardian.wait(ORPHAN_GRACE_S + 15)
        except subprocess.TimeoutExpired:
            self._guardian.kill()
            self._guardian.wait()
        self._answers.close()
        left = {found.pid: found for found in processes.marked(MARKER, self._token)} | self._known
        return processes.kill(tuple(left.values()))

    def _tell(self, data: bytes) -> None:
        with contextlib.suppress(
            BrokenPipeError
        ):  # the guardian is gone: _sweep ends the processes
            if not self._requests.closed:
                self._requests.write(data)
                self._requests.flush()

    def _hear(self, wait_s: float) -> bool:
        """Receive one batch of the guardian's lines; False if none came within the wait."""
        if self._answers.closed or not select.select([self._answers], [], [], wait_s)[0]:
            return False
        data = os.read(self._answers.fileno(), 65536)
        *lines, self._held = (self._held + data).split(b"\n")
        for line in lines:
            self._take(line)
        return bool(data)

    def _take(self, line: bytes) -> None:
        try:
            event = load(line)
        except JsonError:
            return
        if not isinstance(event, dict):
            return
        status, pid, killed = (event.get(name) for name in ("status", "pid", "killed"))
        if event.get("event") == "started" and isinstance(pid, int):
            self.pid = pid
        elif event.get("event") == "failed":
            self.failure = str(event.get("text"))
        elif event.get("event") == "exited" and isinstance(status, int):
            self.exit_status = status
        elif event.get("event") == "ended" and isinstance(killed, dict):
            self.killed = tuple((int(number), str(name)) for number, name in killed.items())
            self._ended = True
