"""Tables of quick rows as subtests of one test: a table without rows fails."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


class NoEmptyTable:
    """Fails a test that asks for `subtests` and has none: its loop found nothing to test."""

    def __init__(self) -> None:
        self.rows = 0

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.rows += isinstance(report, pytest.SubtestReport)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        self.rows = 0
        try:
            return (yield)
        finally:
            if isinstance(item, pytest.Function) and "subtests" in item.fixturenames:
                assert self.rows, f"{item.name} has no rows"
