"""Large tables: part of each is tried every day, all of it by `make test-slow`."""

from __future__ import annotations

from collections.abc import Iterable

import pytest


def every(nth: int, cases: Iterable[object]) -> list[object]:
    """Parameters: the first of each `nth` cases for every day, the others marked slow."""
    return [
        pytest.param(case, marks=() if number % nth == 0 else pytest.mark.slow) for number, case in enumerate(cases)
    ]
