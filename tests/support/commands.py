"""Runs a whole command: in this process with its own streams, variables and working directory, or as a process."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

from healthcheck.cli import COMMANDS, added_commands, main, parser_for
from healthcheck.cli.parsing import Parser
from tests.support.template import ROOT


def whole_parser() -> Parser:
    """The parser with the options of every command, those of extensions too."""
    added = added_commands()
    return parser_for({*COMMANDS, *added}, added)


@dataclass(frozen=True, slots=True)
class Ended:
    """The result of a command."""

    returncode: int
    stdout: str
    stderr: str


def ran(
    *words: str,
    cwd: Path | None = None,
    stdout: int | None = None,
    stderr: int | None = None,
    **variables: str,
) -> Ended:
    """Run a command in this process, in a tenth of the time; not for tests of imports or the end of a process.

    Its streams are real files, which it treats like a process's; without a descriptor, it returns their text.
    """
    room = variables.get("TMPDIR", tempfile.tempdir)
    with (
        tempfile.TemporaryFile() as out,
        tempfile.TemporaryFile() as err,
        mock.patch.dict(os.environ, variables),
        mock.patch.object(tempfile, "tempdir", room),
        _inside(cwd),
        _streams(
            out.fileno() if stdout is None else stdout, err.fileno() if stderr is None else stderr
        ),
    ):
        try:
            status = main(words)
        except SystemExit as stop:
            status = int(stop.code or 0)
        out.seek(0)
        err.seek(0)
        return Ended(int(status), out.read().decode(), err.read().decode())


@contextlib.contextmanager
def _inside(folder: Path | None) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder or before)
    try:
        yield
    finally:
        os.chdir(before)


@contextlib.contextmanager
def _streams(out: int, err: int) -> Iterator[None]:
    """Make these files the process's original streams: `outlets` leaves any others alone."""
    with (
        open(os.devnull, encoding="utf-8") as nothing,
        open(out, "w", encoding="utf-8", closefd=False) as stdout,
        open(err, "w", encoding="utf-8", closefd=False) as stderr,
        mock.patch.multiple(
            sys, stdin=nothing, stdout=stdout, stderr=stderr, __stdout__=stdout, __stderr__=stderr
        ),
    ):
        yield


def started(
    *words: str, cwd: Path | None = None, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Run a command as a process."""
    command = [sys.executable, "-m", "healthcheck", *words]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **variables}
    return subprocess.run(
        command, cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )
