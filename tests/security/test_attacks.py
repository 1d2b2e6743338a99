"""Every attack in every mode of the sandbox: the host is unchanged, whatever the kit reports."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from healthcheck.sandbox.protocol import NO_OTHERS
from tests.security.attacks import ATTACKS, Attack
from tests.security.world import SECRET, Host, Setup, attack

SETUPS = (
    Setup("isolated"),
    Setup("isolated", ordinary=True),
    Setup("confined", lacks=("userns",)),
    Setup("confined", ordinary=True, lacks=("userns",)),
    Setup("unconfined", lacks=("landlock", "userns")),
    Setup("unconfined", ordinary=True, lacks=("landlock", "userns")),
)
QUICK = {
    "breaks-0", "stays-kills-all", "stays-kills-by-tgkill", "reaches-through-a-thread", "writes-modes-by-handle",
    "reaches-another-address", "reaches-flipped-family",
}  # fmt: skip
"""Run in every mode each time, as one kind of user; of the others, every eighth in one setup. The slow tests run
these in every setup and the others in one.
"""
WHOLE_MATRIX = "NPU_ADAPTER_TESTS_ALL_ATTACKS" in os.environ
"""Every attack in every setup takes a quarter of an hour: for changes of the sandbox."""
MEMORY_MIB = 700


def _marks(name: str, number: int, at: int) -> tuple[pytest.MarkDecorator, ...]:
    in_each_mode = name in QUICK and number % 2 == at % 2
    daily = in_each_mode or (number % 8 == 0 and number // 8 % len(SETUPS) == at)
    return () if daily else (pytest.mark.slow,)


RUNS = [
    pytest.param(setup, each, id=f"{each.name}-{setup.name}", marks=_marks(each.name, number, at))
    for number, each in enumerate(ATTACKS)
    for at, setup in enumerate(SETUPS)
    if WHOLE_MATRIX
    or each.name in QUICK
    or number % len(SETUPS) == at
    or not _marks(each.name, number, at)
]


@pytest.mark.process
@pytest.mark.parametrize(("setup", "each"), RUNS)
def test_the_host_is_as_it_was(
    setup: Setup, each: Attack, world: Host, packages: dict[bool, tuple[str, Path]]
) -> None:
    base = world.folder.parent
    repo, weights = base / "repo", base / "weights"
    for name, text in {"deploy.sh": each.deploy, **each.files}.items():
        (repo / name).write_text(world.fill(text), encoding="utf-8")
        (repo / name).chmod(0o755)
    before = {place.name: (place.read_bytes(), place.stat().st_mode) for place in weights.iterdir()}
    shown = attack(setup, *packages[setup.ordinary], repo, weights, base / "temporary")

    assert shown.told.get("mode") == setup.mode, shown
    assert shown.status == 0, shown.complained
    assert not shown.strays
    assert not shown.folders
    assert world.bystander.poll() is None
    assert Path(f"/proc/{world.bystander.pid}/stat").read_text().split()[2] == "S"
    assert not world.reached
    assert int(str(shown.told["memory_mib"])) < MEMORY_MIB
    if setup.keeps_files:
        assert world.state() == world.before
        assert {
            place.name: (place.read_bytes(), place.stat().st_mode) for place in weights.iterdir()
        } == before
        assert not world.left()
        assert SECRET not in str(shown.told)
    if each.no_server:
        assert not shown.told["servers"], shown
    if (
        each.none_stays
        and not setup.lets_kill
        and os.strerror(NO_OTHERS) in str(shown.told["stderr"])
    ):
        return  # the verdict is open, see tests/plan/test_refused_calls.py
    if each.no_server or each.none_stays:
        assert not shown.told["alive"], shown
        assert shown.told["ended_by"] != "server", shown
    if each.ends:
        assert shown.told["ended_by"] in each.ends, shown


def test_there_are_many_attacks() -> None:
    assert len(ATTACKS) >= 150
    assert len({each.name for each in ATTACKS}) == len(ATTACKS)
