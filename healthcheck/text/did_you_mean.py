"""Suggests the known names nearest to an unknown one, for the end of a sentence."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping

from healthcheck.text.messages import joined, msg

_MOST = 3
_LEAST_BEGINNING = 3


def hint(given: str, known: Iterable[str], titles: Mapping[str, str] | None = None) -> str:
    """A "did you mean" question, beginning with a semicolon; empty if nothing is near.

    With the titles of ids such as "weights/tokenizer", one whose title has the given words is near.
    """
    names = list(known)
    long = len(given) >= _LEAST_BEGINNING
    begun = [name for name in names if long and (name.startswith(given) or f"/{given}" in name)]
    words = given.rpartition("/")[2].replace("-", " ")
    titled = [name for name, title in (titles or {}).items() if long and words in title]
    near = (
        begun[:_MOST]
        or titled[:_MOST]
        or difflib.get_close_matches(given, names, n=_MOST, cutoff=0.7)
    )
    return msg("; did you mean {near}?", near=joined(" or ", near)) if near else ""
