"""Tables on the terminal: columns of texts, some of which are Chinese and twice as wide."""

from __future__ import annotations

from collections.abc import Sequence

from healthcheck.text.language import is_wide


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """A line for each row, its columns as wide as their widest cell; the last is as long as it is."""
    widths = [max(_columns(row[column]) for row in rows) for column in range(len(rows[0]) - 1)]
    return ["  ".join([*map(padded, row, widths), row[-1]]).rstrip() for row in rows]


def padded(cell: str, width: int) -> str:
    """The cell with blanks behind it, up to so many columns."""
    return cell + " " * (width - _columns(cell))


def _columns(text: str) -> int:
    return sum(1 + is_wide(character) for character in text)
