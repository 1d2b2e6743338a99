# ruff: noqa: INP001 - scripts are no package
"""Runs a command with its standard output on a terminal and draws its output as an SVG.

    python scripts/record_terminal.py docs/pictures/verify.svg -- npu-adapter verify my-adapter --weights DIR

Progress, on standard error, is shown and not drawn; nothing else is omitted or edited.
"""

from __future__ import annotations

import argparse
import io
import os
import pty
import re
import shlex
import subprocess
import sys
from pathlib import Path

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

_WEB_FONT = re.compile(r"@font-face \{\{.*?\}\}", re.DOTALL)
_THEME = TerminalTheme(
    (22, 27, 34),
    (201, 209, 217),
    [(72, 79, 88), (255, 123, 114), (63, 185, 80), (210, 153, 34), (88, 166, 255), (188, 140, 255), (57, 197, 207),
     (177, 186, 196)],
)  # fmt: skip


def recorded(command: list[str], width: int) -> tuple[str, int]:
    """The output of a command on a terminal of this width, with its colours, and its exit status."""
    ours, theirs = pty.openpty()
    beside = os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)))
    terminal = {"COLUMNS": str(width), "TERM": "xterm-256color", "COLORTERM": "truecolor"}
    environment = {**os.environ, **terminal, "PATH": beside}
    with subprocess.Popen(
        command, stdout=theirs, stdin=subprocess.DEVNULL, env=environment
    ) as process:
        os.close(theirs)
        pieces = []
        while piece := _read(ours):
            pieces.append(piece)
    return b"".join(pieces).decode("utf-8", "replace").replace("\r\n", "\n"), process.returncode


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # the other end is closed
        return b""


def drawn(title: str, text: str, width: int) -> str:
    console = Console(record=True, width=width, file=io.StringIO(), force_terminal=True)
    console.print(Text.from_ansi(text))
    return console.export_svg(
        title=title, theme=_THEME, code_format=_WEB_FONT.sub("", CONSOLE_SVG_FORMAT)
    )


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("picture", type=Path)
    parser.add_argument("--width", type=int, default=110)
    parser.add_argument("command", nargs="+")
    options = parser.parse_args()
    text, status = recorded(options.command, options.width)
    text = f"$ {shlex.join(options.command)}\n{text.rstrip()}"
    options.picture.parent.mkdir(parents=True, exist_ok=True)
    options.picture.write_text(drawn("npu-adapter", text, options.width), "utf-8")
    print(f"{options.picture}: exit status {status}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
