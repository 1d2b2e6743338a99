"""The kit never signals a process for a script that the kit itself cannot see."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from healthcheck.sandbox.protocol import NO_OTHERS
from tests.security.world import NOBODY, STRANGERS_PYTHON, Host, Setup, attack

HIDDEN = 'mount -t proc -o hidepid=2 proc /proc && exec "$@"'
"""In a mount namespace of its own: a user cannot see processes there that are not dumpable."""
KEEPS_TO_ITSELF = "import ctypes, time; ctypes.CDLL(None).prctl(4, 0, 0, 0, 0); print(flush=True); time.sleep(600)"
"""Like ssh-agent and gpg-agent."""


@pytest.mark.process
@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("unshare"), reason="mounting takes root")
@pytest.mark.parametrize(
    "setup", [Setup("unconfined", ordinary=True, lacks=("landlock", "userns"))]
)
def test_a_process_that_is_not_seen_lives_on(
    setup: Setup, world: Host, packages: dict[bool, tuple[str, Path]]
) -> None:
    base = world.folder.parent
    command = (STRANGERS_PYTHON, "-c", KEEPS_TO_ITSELF)
    with subprocess.Popen(
        command, user=NOBODY, group=NOBODY, extra_groups=[], stdout=subprocess.PIPE
    ) as agent:
        assert agent.stdout
        assert agent.stdout.readline()
        deploy = f"#!/bin/bash\n[ -e /proc/{agent.pid} ] && echo seen\nkill -9 {agent.pid}\nkill -9 $BASHPID\n"
        (base / "repo/deploy.sh").write_text(deploy)
        before = ("unshare", "--mount", "sh", "-c", HIDDEN, "sh")
        folders = (base / "repo", base / "weights", base / "temporary")
        shown = attack(setup, *packages[setup.ordinary], *folders, before=before)
        lives = agent.poll() is None
        agent.kill()
    assert (shown.told["mode"], shown.told["ended_by"]) == (setup.mode, "exit"), shown
    assert (shown.told["stdout"], lives) == ("", True), shown
    assert os.strerror(NO_OTHERS) in str(shown.told["stderr"])
