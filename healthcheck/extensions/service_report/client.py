"""Finds AISBench and runs it in a session of its own, with a deadline; nothing of it stays behind.

With `--debug` it does the same and writes its logs to standard output, with a bar of the answers so far; without,
its monitor sometimes misses the end of a task and waits for ever.
"""

from __future__ import annotations

import contextlib
import os
import re
import select
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from healthcheck.core.progress import Progress
from healthcheck.errors import Blocked, UsageError, reason_of
from healthcheck.extensions.service_report.client_task import NAME, ClientTask, configure
from healthcheck.system import files, programs
from healthcheck.system.processes import shortened, started, wait_or_kill
from healthcheck.text.messages import msg

OPTION = "--aisbench-python"
REPORTS, DATA, LOG = "aisbench", "aisbench-problems", "aisbench.log"
"""In the folder of the run."""
INTERRUPTED = msg("interrupted")
_MODULE, _DISTRIBUTION, _PROGRAM = (
    "ais_bench.benchmark.cli.main",
    "ais-bench-benchmark",
    "ais_bench",
)
_INSTALL = "python3 -m venv aisbench && aisbench/bin/pip install ais-bench-benchmark 'pyarrow<20' 'setuptools<80'"
"""With a newer pyarrow its first command fails on numpy; a newer setuptools lacks pkg_resources."""
_KEPT = ("HOME", "LANG", "LC_ALL", "PATH", "TMPDIR", "LD_LIBRARY_PATH", "AIS_BENCH_DATASETS_CACHE")
"""Of the environment: no secret, and no proxy, as the service asks the port directly."""
_BLOCK_BYTES, _TAIL_BYTES, _MOST_LOG_BYTES = 2**16, 2**14, 16 * 2**20
_GRACE_S = 10.0
"""After Ctrl-C AISBench writes the answers so far, and removes its shared memory."""
_BAR = re.compile(r"Progress: +\d+%\|[^|\n]*\| (\d{1,9})/(\d{1,9}) ")
_ERROR = re.compile(
    r"^(?:[A-Za-z_]\w*\.)*\w*(?:Error|Exception): .*|^.*: No module named .*", re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class Client:
    """The beginning of AISBench's command, and the seconds that it has."""

    command: tuple[str, ...]
    deadline_s: float


def find(named: str, deadline_s: float) -> Client:
    """AISBench of the named Python, of this Python, or the program on PATH.

    Raises:
        UsageError: there is none.
    """
    if named:
        return Client((str(programs.python_at(named, OPTION)), "-m", _MODULE), deadline_s)
    if any(metadata.distributions(name=_DISTRIBUTION)):
        return Client((programs.python(), "-m", _MODULE), deadline_s)
    if program := programs.find(_PROGRAM):
        return Client((program,), deadline_s)
    raise UsageError(
        msg(
            "--client needs AISBench, and neither this Python nor PATH has it: `{install}` (Python 3.10 to "
            "3.12), and "
            "{option} aisbench",
            install=_INSTALL,
            option=OPTION,
        )
    )


def run(client: Client, asked: ClientTask, url: str, folder: Path, progress: Progress) -> str:
    """Run AISBench; returns why it did not come to its end, "" if it did. Its report is below `folder`.

    Raises:
        Blocked: it cannot be started.
    """
    with tempfile.TemporaryDirectory(prefix=files.prefix(), ignore_cleanup_errors=True) as scratch:
        configure(asked, url, Path(scratch), folder / DATA)
        words = (
            *(
                *client.command,
                "--models",
                NAME,
                "--datasets",
                NAME,
                "--config-dir",
                scratch,
                "--debug",
            ),
            *("--work-dir", str((folder / REPORTS).absolute())),
        )
        kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
        progress.update(msg("AISBench starts, which takes half a minute or more"))
        try:
            process = started(words, cwd=scratch, env=kept, stderr=subprocess.STDOUT)
        except OSError as error:
            raise Blocked(
                msg(
                    "{command} cannot be run: {reason}",
                    command=client.command[0],
                    reason=reason_of(error),
                )
            ) from error
        try:
            in_time = _follow(process, folder / LOG, time.monotonic() + client.deadline_s, progress)
        except KeyboardInterrupt:
            return INTERRUPTED
        finally:
            _end(process)
    if not in_time:
        return msg("no end within {deadline_s:g} s", deadline_s=client.deadline_s)
    return (
        msg("AISBench ended with status {status}", status=process.returncode)
        if process.returncode
        else ""
    )


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGINT)
    wait_or_kill(process, _GRACE_S)
    if process.stdout:
        process.stdout.close()


def _follow(process: subprocess.Popen[bytes], log: Path, end: float, progress: Progress) -> bool:
    """Keep the output and show the progress until the end; returns whether it came in time."""
    assert process.stdout
    pipe, tail, room, began = process.stdout.fileno(), b"", _MOST_LOG_BYTES, time.monotonic()
    with log.open("wb") as kept:
        while time.monotonic() < end:
            readable, _, _ = select.select([pipe], [], [], 0.5)
            block = os.read(pipe, _BLOCK_BYTES) if readable else b""
            if not block and process.poll() is not None:
                return True
            if readable and not block:  # it closed its output, and works on
                time.sleep(0.1)
            room -= kept.write(block[:room])
            tail = (tail + block)[-_TAIL_BYTES:]
            for bar in (_BAR.findall(tail.decode("utf-8", "replace")) if block else ())[-1:]:
                done, total = map(int, bar)
                began = began if done else time.monotonic()
                progress.update(
                    _line(done, total, time.monotonic() - began), done=min(done, total), total=total
                )
    return False


def _line(done: int, total: int, seconds: float) -> str:
    if done >= total:
        return msg("AISBench grades the answers")
    said = msg("AISBench: {done}/{total} answers", done=done, total=total)
    if not done:
        return said
    return said + " · " + msg("{between} s left", between=round(seconds / done * (total - done)))


def last_error(folder: Path) -> str:
    """The last error in AISBench's log, "" if there is none: it ends with status 0 after most of them."""
    with (folder / LOG).open("rb") as log:
        log.seek(-min(_TAIL_BYTES, log.seek(0, os.SEEK_END)), os.SEEK_END)
        text = log.read(_TAIL_BYTES).decode("utf-8", "replace")
    *_, last = ("", *_ERROR.findall(text))
    return shortened(last, 300)
