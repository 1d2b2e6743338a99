"""What the tests stand on: folded tables report each wrong row, and the tiers refuse what they say."""

from __future__ import annotations

import pytest

from tests.support.rows import rows
from tests.support.tiers import PARTS, in_part

pytest_plugins = ["pytester"]


def test_a_folded_table_names_every_wrong_row_and_where() -> None:
    @rows("number, square", [(2, 4), (3, 8), (4, 15)], ids=str)
    def table(number: int, square: int) -> None:
        assert number**2 == square

    with pytest.raises(pytest.fail.Exception) as failure:
        table()
    said = str(failure.value)
    assert said.startswith("2 of 3 rows:")
    assert "[3, 8] " in said
    assert "[4, 15] " in said
    assert "[2, 4]" not in said
    assert "test_rows.py:" in said


def test_tables_of_tables_try_each_pair_with_the_fixtures_of_the_test() -> None:
    tried = []

    @rows("first", "ab")
    @rows("second", (1, 2))
    def table(first: str, second: int, fixture: str) -> None:
        tried.append((first, second, fixture))

    table(fixture="x")
    assert tried == [("a", 1, "x"), ("a", 2, "x"), ("b", 1, "x"), ("b", 2, "x")]


def test_a_table_without_rows_is_an_error() -> None:
    with pytest.raises(AssertionError, match="has no rows"):
        rows("number", [])(lambda number: None)


def test_every_test_of_a_large_table_is_in_one_part() -> None:
    names = [f"tests/plan/test_corpus.py::test_a_script[{number}]" for number in range(4000)]
    parts = [[name for name in names if in_part(name, part)] for part in range(PARTS)]
    assert sorted(name for part in parts for name in part) == sorted(names)
    assert min(map(len, parts)) > len(names) / PARTS * 0.8
