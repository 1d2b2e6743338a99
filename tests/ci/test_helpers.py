"""Where helpers of several tests are: pytest alone loads a conftest.py, and it may load one twice."""

from __future__ import annotations

import re
from pathlib import Path

TESTS = Path(__file__).parents[1]


def test_no_test_imports_from_a_conftest() -> None:
    """Import from the module of tests/support that the conftest.py imports from."""
    importing = re.compile(r"^\s*(?:from|import) tests\.[\w.]*conftest\b", re.MULTILINE)
    modules = sorted(TESTS.rglob("*.py"))
    assert modules
    assert [str(path) for path in modules if importing.search(path.read_text("utf-8"))] == []
