"""Tables on the terminal, aligned by columns: Chinese characters are twice as wide."""

from __future__ import annotations

from collections.abc import Sequence

from healthcheck.text.language import is_wide


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """One line per row. Each column is as wide as its widest cell, except the last, which is not padded."""
    widths = [max(_columns(row[column]) for row in rows) for column in range(len(rows[0]) - 1)]
    return ["  ".join([*map(padded, row, widths), row[-1]]).rstrip() for row in rows]


def padded(cell: str, width: int) -> str:
    """The cell, padded with blanks to `width` columns."""
    return cell + " " * (width - _columns(cell))


def _columns(text: str) -> int:
    return sum(1 + is_wide(character) for character in text)
