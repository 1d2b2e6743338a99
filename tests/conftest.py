from __future__ import annotations

import os
import shutil
import signal
import tempfile
from collections.abc import Iterator

import pytest
from hypothesis import settings

from tests.support import tables, tiers
from tests.support.chromium import Browser, found

# A deadline for each example is a timing assertion, which a busy machine fails.
settings.register_profile("kit", deadline=None, max_examples=50)
settings.load_profile("kit")

IN_MEMORY = "/dev/shm"
MOST_BYTES = 4 * 2**30
"""Temporary files of a whole run, several times over."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--part", type=int, help="of the tests marked slow, run one part in eight: 0 to 7"
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    tiers.keep_part(config, items)


def pytest_configure(config: pytest.Config) -> None:
    """A shell starts its background jobs deaf to Ctrl-C, and children inherit that; the tests need signals heard."""
    config.pluginmanager.register(tiers.OneProcess())
    config.pluginmanager.register(tables.NoEmptyTable())
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(
                number, signal.default_int_handler if number is signal.SIGINT else signal.SIG_DFL
            )
    if "TMPDIR" not in os.environ and has_room(IN_MEMORY):
        use_temporary_files_of(tempfile.mkdtemp(prefix="npu-adapter-tests-", dir=IN_MEMORY), config)


def has_room(folder: str) -> bool:
    """Whether the temporary files fit into a folder, and programs among them can be run."""
    try:
        return (
            shutil.disk_usage(folder).free > MOST_BYTES
            and not os.statvfs(folder).f_flag & os.ST_NOEXEC
        )
    except OSError:
        return False


def use_temporary_files_of(folder: str, config: pytest.Config) -> None:
    """Have this process and its children use a folder, and remove it at the end.

    The tests make and remove tens of thousands of small files, on some file systems for as much time as all else.
    """
    os.chmod(folder, 0o755)
    os.environ["TMPDIR"] = tempfile.tempdir = folder
    config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    if not found():
        pytest.skip("no Chromium here: apt-get install chromium (.ci/run does)")
    one = Browser()
    yield one
    one.close()
