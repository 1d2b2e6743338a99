"""The nearest known name to one that is not known, for the end of a sentence."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def hint(given: str, known: Iterable[str]) -> str:
    """A question with what may have been meant, beginning with a semicolon; empty where nothing is near."""
    near = difflib.get_close_matches(given, list(known), n=3, cutoff=0.7)
    return f"; did you mean {' or '.join(near)}?" if near else ""
