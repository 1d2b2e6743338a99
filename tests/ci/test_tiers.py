"""A test without a mark runs in one process: what starts another or listens is refused."""

from __future__ import annotations

import pytest

from tests.support.template import ROOT
from tests.support.tiers import in_part

pytestmark = pytest.mark.process
pytest_plugins = ["pytester"]
TESTS = """\
import os, socket, subprocess, pytest

def test_a_program(): subprocess.run(["true"])
def test_a_fork(): os._exit(0) if os.fork() == 0 else os.wait()
def test_a_server(): socket.create_server(("127.0.0.1", 0)).close()
def test_a_program_in_a_try():
    try: subprocess.run(["true"])
    except Exception: pass
@pytest.fixture(scope="module")
def made(): subprocess.run(["true"])
@pytest.mark.process
def test_allowed_to_make(made): pass
def test_only_uses_what_was_made(made): pass

def test_one_process(): socket.socketpair()
@pytest.mark.process
def test_marked(): subprocess.run(["true"])
@pytest.mark.smoke
def test_smoke(): os.system("true")
@pytest.mark.slow
@pytest.mark.parametrize("row", range(40))
def test_table(row): subprocess.run(["true"])
"""
CONFTEST = """\
from tests.support import tiers

def pytest_addoption(parser): parser.addoption("--part", type=int)
def pytest_configure(config): config.pluginmanager.register(tiers.OneProcess())
def pytest_collection_modifyitems(config, items): tiers.keep_part(config, items)
"""


@pytest.fixture
def suite(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    marks = "markers =\n    process:\n    smoke:\n    slow:\n    engine:\n    peer:\n"
    pytester.makeini(f"[pytest]\n{marks}")
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile(test_them=TESTS)
    return pytester


def test_what_an_unmarked_test_may_not_do(suite: pytest.Pytester) -> None:
    done = suite.runpytest_subprocess("-p", "no:xdist", "-m", "not slow")
    done.assert_outcomes(passed=4, failed=4, errors=1, deselected=40)
    done.stdout.fnmatch_lines(["*subprocess.Popen in a test that has none of the marks*"])
    done.stdout.fnmatch_lines(["*fixtures that needed a process: {'*::made': 'subprocess.Popen'}*"])


def test_one_part_of_the_large_tables_is_run(suite: pytest.Pytester) -> None:
    expected = sum(in_part(f"test_them.py::test_table[{row}]", 3) for row in range(40))
    done = suite.runpytest_subprocess("-p", "no:xdist", "-m", "slow", "--part", "3")
    assert 0 < expected < 40
    assert done.parseoutcomes()["passed"] == expected
