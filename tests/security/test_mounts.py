"""File systems mounted below what isolated mode shows of this machine are read-only inside as well."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tests.security.world import Host, Setup, attack

SETUPS = (
    Setup("isolated"),
    Setup("isolated", ordinary=True),
    Setup("isolated", lacks=("mount_setattr",)),
    Setup("isolated", ordinary=True, lacks=("mount_setattr",)),
)
OF_THE_SYSTEM = next(
    place
    for place in sorted(Path("/usr/share").iterdir())
    if place.is_dir() and not place.is_symlink()
)
MOUNTS = """after=$1 nested=$2 deeper=$3 system=$4
shift 4
for place in "$nested" "$deeper" "$system"; do
    mkdir -p "$place" && mount -t tmpfs none "$place" && echo kept > "$place/kept" && chmod -R 777 "$place" || exit 9
done
"$@"
status=$?
cp -r "$nested" "$system" "$after"
exit $status
"""
"""Runs in a mount namespace of its own, which ends with the command and all its mounts."""
IN_IMAGE = "/usr/"
READS_ALL = "ls $MODEL_PATH && python3 -c 'import decimal, sqlite3' && cat /proc/self/mountinfo /proc/mounts /proc/self/mountstats"
DEPLOY = f"""#!/bin/bash
for place in "$MODEL_PATH/a b" "$MODEL_PATH/a b/c" {OF_THE_SYSTEM}; do
    cat "$place/kept"
    echo changed > "$place/kept"; echo > "$place/new"; mkdir "$place/folder"; chmod 000 "$place/kept"; rm -rf "$place/kept"
done
cat /proc/self/mountinfo
exit 1
"""


@pytest.mark.process
@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("unshare"), reason="mounting takes root")
@pytest.mark.parametrize("setup", SETUPS, ids=lambda setup: setup.name)
def test_what_is_mounted_below_is_read_only(
    setup: Setup, world: Host, packages: dict[bool, tuple[str, Path]]
) -> None:
    base = world.folder.parent
    repo, weights, after = base / "repo", base / "weights", base / "after"
    (repo / "deploy.sh").write_text(DEPLOY)
    after.mkdir()
    places = (str(after), str(weights / "a b"), str(weights / "a b/c"), str(OF_THE_SYSTEM))
    before = ("unshare", "--mount", "sh", "-c", MOUNTS, "sh", *places)
    shown = attack(
        setup, *packages[setup.ordinary], repo, weights, base / "temporary", before=before
    )

    assert shown.told.get("mode") == "isolated", shown
    said = str(shown.told["stdout"]).splitlines()
    assert said[:3] == ["kept"] * 3
    left = {
        str(place.relative_to(after)): place.read_text()
        for place in after.rglob("*")
        if place.is_file()
    }
    assert left == dict.fromkeys(("a b/kept", "a b/c/kept", f"{OF_THE_SYSTEM.name}/kept"), "kept\n")
    assert f"{base.name}/weights" in "".join(said[3:]), (
        "an overlay does not show what is mounted below the weights"
    )
    mounts = [line.split() for line in said[3:]]
    writable = {fields[4] for fields in mounts if "rw" in fields[5].split(",")}
    assert "/" in writable
    assert {place for place in writable if place != "/" and not place.startswith("/dev/")} == set()


@pytest.mark.process
@pytest.mark.parametrize("setup", SETUPS, ids=lambda setup: setup.name)
def test_no_mount_names_a_place_of_the_caller(
    setup: Setup, world: Host, packages: dict[bool, tuple[str, Path]]
) -> None:
    base = world.folder.parent
    repo, weights = base / "repo", base / "weights"
    (repo / "deploy.sh").write_text(f"#!/bin/bash\n{READS_ALL}\nexit 1\n")
    shown = attack(setup, *packages[setup.ordinary], repo, weights, base / "temporary")

    assert shown.told.get("mode") == "isolated", shown
    said = str(shown.told["stdout"])
    assert said.startswith("config.json\n"), shown
    assert "/srv/weights" in said, "as the service names it"
    interpreter = Path(packages[setup.ordinary][0]).resolve()
    assert [
        place
        for place in (base.name, str(interpreter.parents[1]))
        if place in said.replace(IN_IMAGE, "")
    ] == []
