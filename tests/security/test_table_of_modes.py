"""SECURITY.md names the tests of what it promises: each is there, and the count of attacks is theirs."""

from __future__ import annotations

import re
from pathlib import Path

from tests.security.attacks import ATTACKS
from tests.security.test_attacks import SETUPS

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "SECURITY.md").read_text("utf-8")
NAMED = sorted(set(re.findall(r"`([a-z]+-\*|test_\w+)`", PAGE)))


def test_every_named_test_is_there() -> None:
    written = "\n".join(path.read_text("utf-8") for path in (ROOT / "tests").rglob("test_*.py"))
    groups = {f"{each.name.partition('-')[0]}-*" for each in ATTACKS}
    assert len(NAMED) > 15
    assert [name for name in NAMED if name not in groups and f"def {name}(" not in written] == []


def test_every_group_of_attacks_is_named() -> None:
    groups = {f"{each.name.partition('-')[0]}-*" for each in ATTACKS}
    assert groups - set(NAMED) == set()


def test_the_count_is_that_of_the_attacks() -> None:
    assert f"all {len(ATTACKS)} in each mode" in PAGE
    assert f"{len(ATTACKS) * len(SETUPS):,} rows" in PAGE
