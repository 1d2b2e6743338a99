"""Large tables: part of each is tried every day, all of it by `make test-slow`."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import pytest


def these(chosen: Collection[object], cases: Iterable[object]) -> list[object]:
    """Parameters: the chosen ones of the cases for every day, the others marked slow."""
    return [pytest.param(case, marks=() if case in chosen else pytest.mark.slow) for case in cases]


def every(nth: int, cases: Iterable[object]) -> list[object]:
    """Parameters: the first of each `nth` cases for every day, the others marked slow."""
    return [
        pytest.param(case, marks=() if number % nth == 0 else pytest.mark.slow) for number, case in enumerate(cases)
    ]
