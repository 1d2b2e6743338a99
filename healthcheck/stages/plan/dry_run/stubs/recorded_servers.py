"""Servers in the dry run: a stub that acts as one, and the answers of those that were recorded."""

from __future__ import annotations

import fcntl
import os
import sys
from collections.abc import Sequence
from typing import NamedTuple

from healthcheck.sandbox import replies
from healthcheck.sandbox.protocol import BETWEEN, END, HELD, RUN, SERVED
from healthcheck.stages.plan.dry_run.stubs import naps, note

_STARTED = """INFO: Started server process [{pid}]
INFO: Waiting for application startup.
INFO: Application startup complete.
INFO: Uvicorn running on http://0.0.0.0:8000 (Press CTRL+C to quit)"""
_MODEL_CHARACTERS = 200


class RecordedServer(NamedTuple):
    """The names of the models that a server has; `accepts_any`: it answers for any other name as well."""

    names: Sequence[str]
    accepts_any: bool


def act_as_server(name: str, arguments: Sequence[str]) -> None:
    """Record a server and act as one: print what a server prints, then stay.

    A server counts while it holds the lock, of which the kernel names the holder.
    """
    with open(f"{note.KIT}/{RUN}/{HELD}", "rb") as held:
        fcntl.lockf(held, fcntl.LOCK_SH, 1, os.getpid())
        note.send_record(os.getpid(), "server", name, arguments)
        if not note.is_loading():
            print(_STARTED.format(pid=os.getpid()), file=sys.stderr, flush=True)
        while True:
            naps.really_sleep(3600)


def recorded_server(port: int) -> RecordedServer | None:
    """The recorded server on a port; None if there is none."""
    for line in note.warden_file(SERVED).split(END):
        row_port, *rest = line.split(BETWEEN)
        if row_port == str(port):
            strict, *names = rest
            return RecordedServer(names=names, accepts_any=not strict)
    return None


def server_reply(port: int, request: bytes) -> bytes:
    """The HTTP response of the recorded server on a port to a request; b"" without a server."""
    server = recorded_server(port)
    if server is None:
        note.refused_port(port)
        return b""
    wanted = "" if server.accepts_any else replies.model_wanted(request)
    unknown_model = "" if wanted in server.names else wanted
    note_request(unknown_model)
    return replies.reply(server.names, unknown_model)


def note_request(unknown_model: str) -> None:
    """Note a request to a recorded server, and the model in it that the server does not have."""
    note.send("asked", " ".join(unknown_model[:_MODEL_CHARACTERS].split()))
