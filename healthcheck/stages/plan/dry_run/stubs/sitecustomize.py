"""Loaded by a real Python that a sandboxed program started by absolute path: executes the stub instead."""

import os
import sys

_kit = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_words = list(sys.orig_argv)
_program = os.path.basename(_words[1]) if len(_words) > 1 else ""
if os.path.exists(f"{_kit}/bin/{_program}") and _program and not _program.startswith("python"):
    os.execv(f"{_kit}/bin/{_program}", [_program, *_words[2:]])  # noqa: S606 - the stub
elif os.path.exists(f"{_kit}/python.sh"):
    os.execv(f"{_kit}/python.sh", _words)  # noqa: S606 - as above
