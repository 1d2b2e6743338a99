"""What the launch tests share: a free port, an export with a deploy.sh, a service over it, and who is still alive."""

from __future__ import annotations

import random
import socket
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import psutil

from healthcheck.core.progress import Progress, Silent
from healthcheck.stages.service.facts import Service
from healthcheck.stages.service.watch import Patience

SERVER = f"'{sys.executable}' '{Path(__file__).with_name('chat_server.py')}'"
CHANCE = random.SystemRandom()  # hypothesis gives every process the same seed
QUICK = Patience(deadline_s=60, refusal_s=0.5, silence_s=30, other_port_s=0.5, tick_s=0.1)


def free_port() -> int:
    """One below those that Linux gives out by itself, as to the tests of another process, before it is used."""
    while True:
        port = CHANCE.randrange(20_000, 32_768)
        with socket.socket() as trial, suppress(OSError):
            trial.bind(("127.0.0.1", port))
            return port


def service(
    folder: Path,
    script: str,
    *,
    patience: Patience = QUICK,
    port: int = 0,
    progress: Progress | None = None,
    **more,
) -> Service:
    """A service over `script` as deploy.sh; PORT in it is the port that is asked, SERVER starts the chat server."""
    port = port or free_port()
    export = folder / "export"
    export.mkdir(exist_ok=True)
    (export / "deploy.sh").write_text(
        script.replace("SERVER", SERVER).replace("PORT", str(port)) + "\n"
    )
    weights = folder / "my weights 权重"
    weights.mkdir(exist_ok=True)
    return Service(
        export,
        weights,
        log=folder / "deploy.log",
        progress=progress or Silent(),
        patience=patience,
        port=port,
        **more,
    )


def eventually(condition: Callable[[], bool], limit_s: float = 60.0) -> bool:
    end = time.monotonic() + limit_s
    while not (holds := condition()) and time.monotonic() < end:
        time.sleep(0.05)
    return holds


def alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def with_word(word: str) -> list[int]:
    """Living processes with this word in their command line."""
    found = []
    for process in psutil.process_iter(["pid", "cmdline", "status"]):
        if process.info["status"] != psutil.STATUS_ZOMBIE and word in (
            process.info["cmdline"] or []
        ):
            found.append(process.info["pid"])
    return found


def seen_in(result) -> str:
    """What a result saw, and its repairs."""
    return "\n".join(f"{found.seen} {found.fix}" for found in result.findings)
