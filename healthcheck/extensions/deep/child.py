"""Runs a program of `inside` with another Python, bounded in time and output, and cleans up afterwards."""

from __future__ import annotations

import os
import tempfile
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from healthcheck.core.records import JsonValue
from healthcheck.errors import UsageError, reason_of
from healthcheck.system import files, json_text
from healthcheck.system.processes import ran, shortened
from healthcheck.text.messages import msg

INSIDE = Path(__file__).parent / "inside"
ANSWER_BYTES = 1 << 20
TAIL_BLOCKS = 16
BLOCK_BYTES = 4096
KEPT = ("LD_LIBRARY_PATH", "SSL_CERT_FILE")
QUIET = {
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "VLLM_NO_USAGE_STATS": "1",
    "VLLM_LOGGING_LEVEL": "WARNING",
    "TORCH_DEVICE_BACKEND_AUTOLOAD": "0",
    "PYTHONNOUSERSITE": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
    "LC_ALL": "C.UTF-8",
    "PATH": "/usr/local/bin:/usr/bin:/bin",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """The result of a program.

    Attributes:
        answer: the bytes of its answer, possibly incomplete; empty if it wrote none.
        trouble: how the program failed ("no end within 300 s", "ended with status 1: …"), else "".
    """

    answer: bytes
    trouble: str = ""


def run(
    python: str,
    program: str,
    request: Mapping[str, JsonValue] | None,
    variables: Mapping[str, str],
    deadline_s: float,
) -> Told:
    """Run the program with a scrubbed environment, in an empty folder that is also its home."""
    with tempfile.TemporaryDirectory(prefix=files.prefix(), ignore_cleanup_errors=True) as folder:
        home = Path(folder, "home")
        home.mkdir()
        answer = Path(folder, "answer.json")
        command = [python, str(INSIDE / program)]
        if request is not None:
            Path(folder, "request.json").write_bytes(json_text.dump(request))
            command.append(str(Path(folder, "request.json")))
        environment = {name: os.environ[name] for name in KEPT if name in os.environ}
        environment |= {**variables, **QUIET, "HOME": str(home), "TMPDIR": str(home)}
        environment["PYTHONPATH"] = str(INSIDE / "stubs")
        trouble = _ended([*command, str(answer)], home, environment, deadline_s)
        try:
            return Told(answer=files.read_bounded(answer, ANSWER_BYTES), trouble=trouble)
        except UsageError:
            return Told(answer=b"", trouble=trouble or msg("it ended without an answer"))


def _ended(command: list[str], home: Path, environment: Mapping[str, str], deadline_s: float) -> str:
    """Run until the end or the deadline; returns the failure, or ""."""
    tail: deque[bytes] = deque(maxlen=TAIL_BLOCKS)

    def follow(stream: IO[bytes]) -> None:
        while block := os.read(stream.fileno(), BLOCK_BYTES):
            tail.append(block)

    try:
        status = ran(command, follow, deadline_s=deadline_s, cwd=home, env=environment)
    except OSError as error:
        return msg("{command} cannot be run: {reason}", command[0], reason_of(error))
    if status is None:
        return msg("no end within {deadline_s:g} s", deadline_s)
    lines = [line for line in b"".join(tail).decode("utf-8", "replace").splitlines() if line.strip()]
    said = msg(": {text}", shortened(lines[-1], 300)) if lines else ""
    return msg("ended with status {returncode}{said}", status, said) if status else ""
