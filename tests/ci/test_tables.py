"""What the tests stand on: tables report each wrong row by name, and every large table is in one part."""

from __future__ import annotations

import pytest

from tests.support import tables
from tests.support.tiers import PARTS, in_part

pytest_plugins = ["pytester"]
TESTS = """\
import pytest

ROWS = {"two": 4, "three": 8, "four": 15}

def test_subtests(subtests):
    for name, square in ROWS.items():
        with subtests.test(name):
            assert square == 4

@pytest.mark.parametrize("name", ROWS)
def test_parametrized(name):
    assert ROWS[name] == 4
"""
EMPTY = """\
def test_nothing(subtests):
    for name in ():
        with subtests.test(name):
            assert name
"""


def test_a_table_names_every_wrong_row_and_no_other(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(TESTS)
    done = pytester.runpytest_inprocess("-p", "no:xdist", "-rf", plugins=[tables.NoEmptyTable()])
    assert done.ret == pytest.ExitCode.TESTS_FAILED
    failed = [line.split(" - ")[0] for line in done.outlines if "FAILED" in line]
    assert [line.replace(".py", "").split("::")[-1] for line in failed] == [
        "test_subtests", "test_subtests", "test_subtests", "test_parametrized[three]", "test_parametrized[four]",
    ]  # fmt: skip
    assert [line.split("]")[0] for line in failed[:2]] == ["SUBFAILED[three", "SUBFAILED[four"]


def test_a_failed_row_is_tried_again_by_the_name_of_its_test(pytester: pytest.Pytester) -> None:
    """`scripts/run_tests.py` reads there which tests get a second try."""
    file = pytester.makepyfile(TESTS)
    pytester.runpytest_inprocess("-p", "no:xdist")
    kept = (pytester.path / ".pytest_cache/v/cache/lastfailed").read_text("utf-8")
    assert f'"{file.name}::test_subtests"' in kept


def test_a_table_without_rows_is_an_error(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(EMPTY)
    done = pytester.runpytest_inprocess("-p", "no:xdist", plugins=[tables.NoEmptyTable()])
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(["*AssertionError: test_nothing has no rows*"])


def test_every_test_of_a_large_table_is_in_one_part() -> None:
    names = [f"tests/plan/test_corpus.py::test_a_script[{number}]" for number in range(4000)]
    parts = [[name for name in names if in_part(name, part)] for part in range(PARTS)]
    assert sorted(name for part in parts for name in part) == sorted(names)
    assert min(map(len, parts)) > len(names) / PARTS * 0.8
