"""The tiers of the tests: which ones run, and what a test without a mark may not do.

A test without a mark runs in one process: it starts no process and listens nowhere. Other tests have the mark
`process`, or `smoke` if every run needs them. `slow`, `engine` and `peer` allow both.
"""

from __future__ import annotations

import sys
import zlib
from collections.abc import Iterator
from socket import SOCK_DGRAM

import pytest
import urllib3.util.connection  # noqa: F401 - binds a socket when it is first imported, which no test causes

PARTS = 8
"""The large tables are divided into this many parts, one for each run of CI."""
ALLOWED = frozenset({"process", "smoke", "slow", "engine", "peer"})
STARTS = frozenset(
    {"subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.exec", "os.system"}
)
LISTENS = "socket.bind"


class OneProcess:
    """Refuses processes and listening sockets while a test runs that has no mark for them."""

    def __init__(self) -> None:
        self.refuses = False
        self.tried: list[str] = []
        self.fixtures: dict[str, str] = {}
        sys.addaudithook(self.look)

    def look(self, event: str, arguments: tuple[object, ...]) -> None:
        """Called by Python for each of its audit events."""
        if event in STARTS or (event == LISTENS and streams(arguments[0])):
            self.tried.append(event)
            if self.refuses:
                pytest.fail(f"{event} in a test that has none of the marks {sorted(ALLOWED)}")

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self.refuses = not ALLOWED & {mark.name for mark in item.iter_markers()}
        try:
            return (yield)
        finally:
            self.refuses = False

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[object]) -> Iterator[None]:
        """Remember shared fixtures that started processes: the next test that uses one starts none itself."""
        before = len(self.tried)
        try:
            return (yield)
        finally:
            if fixturedef.scope != "function" and len(self.tried) > before:
                self.fixtures[f"{fixturedef.baseid}::{fixturedef.argname}"] = self.tried[before]

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        if self.refuses and isinstance(item, pytest.Function):
            known = item._fixtureinfo.name2fixturedefs
            asked = {f"{one.baseid}::{one.argname}" for many in known.values() for one in many}
            needed = {name: event for name, event in self.fixtures.items() if name in asked}
            if needed:
                pytest.fail(
                    f"fixtures that needed a process: {needed}; marks that allow it: {sorted(ALLOWED)}"
                )


def streams(socket: object) -> bool:
    """Whether clients can connect to a socket once it listens: a datagram socket only has an address."""
    return getattr(socket, "type", None) != SOCK_DGRAM


def in_part(nodeid: str, part: int) -> bool:
    """Whether a test belongs to a part: decided by its name, so that a new test moves no other."""
    return zlib.crc32(nodeid.encode()) % PARTS == part


def keep_part(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the large tables' other parts."""
    part: int | None = config.getoption("part")
    if part is not None:
        out = [
            item
            for item in items
            if item.get_closest_marker("slow") and not in_part(item.nodeid, part % PARTS)
        ]
        config.hook.pytest_deselected(items=out)
        left_out = set(out)
        items[:] = [item for item in items if item not in left_out]
