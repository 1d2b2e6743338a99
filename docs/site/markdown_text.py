"""Texts and tables as Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_SPECIAL = re.compile(r"([\\*_<>\[\]$|])")
_CODE = re.compile(r"(`[^`]*`)")


def escaped(words: str) -> str:
    """Plain text; what stands between backticks stays."""
    parts = _CODE.split(words)
    return "".join(part if part.startswith("`") else _SPECIAL.sub(r"\\\1", part) for part in parts)


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Cells in Markdown."""
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (header, ["---"] * len(header), *rows))
