"""Run a command as another user, or without features of the kernel: `python lacking.py WHAT,… COMMAND …`.

WHAT is userns (no namespaces for anybody), landlock, mount_setattr, ordinary
(user 65534).
"""

from __future__ import annotations

import errno
import os
import sys

sys.path.insert(0, os.environ["LACKING_PACKAGE"])

from healthcheck.sandbox import seccomp
from healthcheck.sandbox.seccomp import Condition, Rule, refuse

NEW_USER = 0x10000000
NOBODY = 65534
RULES = {
    "userns": (
        Rule("unshare", refuse(errno.EPERM)),
        Rule("mount", refuse(errno.EPERM)),
        Rule("clone3", refuse(errno.ENOSYS)),
        Rule("clone", refuse(errno.EPERM), (Condition(0, NEW_USER, NEW_USER),)),
    ),
    "landlock": (Rule("landlock_create_ruleset", refuse(errno.ENOSYS)),),
    "mount_setattr": (Rule("mount_setattr", refuse(errno.ENOSYS)),),
}


def main() -> None:
    what, command = set(sys.argv[1].split(",")) - {""}, sys.argv[2:]
    if "ordinary" in what:
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)
    rules = [rule for name in sorted(what) for rule in RULES.get(name, ())]
    if rules:
        seccomp.install(seccomp.program(rules))
    os.execv(command[0], command)


main()
