"""Parses a script with the shells' own parsers; `-n` does not execute it."""

from __future__ import annotations

import functools
import os
import re
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from healthcheck import contract
from healthcheck.system import files, programs
from healthcheck.system.files import write_atomically
from healthcheck.text.messages import msg

TIMEOUT_S = 30.0
MAX_SCRIPT_BYTES = 256 * 1024
LINE = re.compile(r"^[^:\n]*: (?:line )?(\d+): (.*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Parse:
    """One shell's verdict on a script.

    Attributes:
        shell: "dash" (what `sh` is on Debian and Ubuntu) or "bash".
        accepted: None if the parser gave no answer (it was killed, or took too long).
        line: the line of the first message, 0 if it names none.
        message: the first message, "" if there is none; an accepted script can have a warning.
    """

    shell: str
    accepted: bool | None
    line: int = 0
    message: str = ""


def parse(script: bytes) -> tuple[Parse, ...]:
    """Parse a script of at most MAX_SCRIPT_BYTES with bash and dash, if this machine has them.

    Byte order mark and carriage returns are removed first: they are separate faults.
    """
    if len(script) > MAX_SCRIPT_BYTES or b"\0" in script:
        return ()
    script = script.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n")
    found = (("bash", programs.find("bash")), ("dash", dash()))
    return tuple(_parse(name, path, script) for name, path in found if path)


@functools.cache
def dash() -> str | None:
    """The path of dash, which is Debian's and Ubuntu's `sh`, or of another `sh` without arrays; None if neither."""
    for name in ("dash", "sh"):
        path = programs.find(name)
        if path and _run(path, ("-c", "a=(1)"), "/").returncode:
            return path
    return None


def _parse(name: str, path: str, script: bytes) -> Parse:
    with tempfile.TemporaryDirectory(prefix=files.prefix()) as folder:
        write_atomically(Path(folder, contract.ENTRY_POINT), script)
        try:
            done = _run(path, ("-n", contract.ENTRY_POINT), folder)
        except subprocess.TimeoutExpired:
            return Parse(
                shell=name,
                accepted=None,
                message=msg("took longer than {timeout_s:.0f} s", timeout_s=TIMEOUT_S),
            )
    said = done.stderr.decode("utf-8", "replace").strip()
    if done.returncode < 0:
        return Parse(
            shell=name,
            accepted=None,
            message=msg("was killed by signal {value}", value=-done.returncode),
        )
    first = LINE.search(said)
    message = first.group(2) if first else said.splitlines()[0] if said else ""
    return Parse(
        shell=name,
        accepted=done.returncode == 0,
        line=int(first.group(1)) if first else 0,
        message=message[:300],
    )


def _run(path: str, arguments: tuple[str, ...], folder: str) -> subprocess.CompletedProcess[bytes]:
    environment = {"PATH": os.defpath, "LC_ALL": "C"}
    return subprocess.run(
        (path, *arguments), cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True,
        timeout=TIMEOUT_S, check=False,
    )  # fmt: skip
