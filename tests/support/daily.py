"""Large tables: part of each is tested every day, the whole by `make test-slow`."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import pytest


def these(chosen: Collection[object], cases: Iterable[object]) -> list[object]:
    """Parameters: the chosen cases for every day, the others marked slow."""
    return [pytest.param(case, marks=() if case in chosen else pytest.mark.slow) for case in cases]


def every(nth: int, cases: Iterable[object]) -> list[object]:
    """Parameters: every `nth` case for every day, the others marked slow."""
    return [
        pytest.param(case, marks=() if number % nth == 0 else pytest.mark.slow)
        for number, case in enumerate(cases)
    ]
