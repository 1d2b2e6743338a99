"""A script sees no other process: /proc is its own, or tells it of the machine only."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.security.test_attacks import SETUPS
from tests.security.world import OF_COMMAND_LINE, Host, Setup, attack

LOOKS = """#!/bin/bash
cat /proc/[0-9]*/cmdline /proc/[0-9]*/comm /proc/[0-9]*/status /proc/{BYSTANDER}/stat
for each in /proc/*; do cat "$each/cmdline"; done
cat /proc/net/unix /proc/self/net/unix
"""
ORDINARY = """#!/bin/bash
set -e
grep -q MemTotal /proc/meminfo
grep -q . /proc/cpuinfo
[ -d /proc/self ]
read -r word < <(echo substituted)
echo "$word" | cat /dev/stdin
cat <<< here
df -h > sizes
df "$MODEL_PATH" | grep -q "%"
df -B 1M | grep -q "%"
nproc
"""


def ran(
    setup: Setup, world: Host, packages: dict[bool, tuple[str, Path]], script: str
) -> Mapping[str, object]:
    base = world.folder.parent
    (base / "repo/deploy.sh").write_text(world.fill(script))
    shown = attack(
        setup, *packages[setup.ordinary], base / "repo", base / "weights", base / "temporary"
    )
    assert shown.told.get("mode") == setup.mode, shown
    return shown.told


@pytest.mark.process
@pytest.mark.parametrize("setup", SETUPS, ids=lambda setup: setup.name)
def test_a_script_reads_no_command_line_of_others(
    setup: Setup, world: Host, packages: dict[bool, tuple[str, Path]]
) -> None:
    seen = str(ran(setup, world, packages, LOOKS)["stdout"])
    assert (OF_COMMAND_LINE in seen) == (setup.mode == "unconfined")
    assert (world.names["TOKEN"] in seen) == (setup.mode == "unconfined"), "a socket's name"


@pytest.mark.process
@pytest.mark.parametrize("setup", SETUPS, ids=lambda setup: setup.name)
def test_a_script_reads_what_is_the_machines(
    setup: Setup, world: Host, packages: dict[bool, tuple[str, Path]]
) -> None:
    told = ran(setup, world, packages, ORDINARY)

    assert told["exit_status"] == 0, told
    assert str(told["stdout"]).split()[:2] == ["substituted", "here"]
