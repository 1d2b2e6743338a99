# ruff: noqa: INP001 - a folder of programs, no package
"""Says in CHANGELOG.md which releases have a row now; scripts/add_release.py calls it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from healthcheck.system import files

ROOT = Path(__file__).parent.parent
HEADING = "### Releases of vllm-ascend"
_UNRELEASED = re.compile(r"^## Unreleased\n", re.MULTILINE)


def add(releases: Sequence[str], root: Path = ROOT) -> Iterator[str]:
    """Add a line for the releases under the heading of what is not released yet; yields what was done."""
    if not releases:
        return
    what = "row, options, keys of `--additional-config` and support matrix"
    line = f"- vllm-ascend {', '.join(releases)}: {what}.\n"
    path = root / "CHANGELOG.md"
    text = path.read_text("utf-8")
    if HEADING in text:
        text = text.replace(f"{HEADING}\n\n", f"{HEADING}\n\n{line}", 1)
    else:
        text = _UNRELEASED.sub(lambda found: f"{found[0]}\n{HEADING}\n\n{line}", text, count=1)
    files.write_atomically(path, text.encode())
    yield f"CHANGELOG.md: {line.strip()}"
