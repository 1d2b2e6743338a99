"""`python3 -m adapter.sourced SCRIPT` prints for a POSIX shell the variables that a bash script exports.

CANN's and ATB's set_env.sh need bash, read variables that may be unset and have steps that fail. Here the worst
that they can do is export nothing.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys

MARK = b"\0adapter.sourced\0"
SHELL_OWN = frozenset({"_", "SHLVL", "PWD", "OLDPWD", "BASH_ENV", "ENV"})
NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)


def exported_by(script: str) -> dict[str, str]:
    """The variables that are new or different after a bash without -e and -u has sourced `script`.

    Raises:
        OSError: there is no bash.
    """
    command = '. "$0" </dev/null >&2; printf "\\0adapter.sourced\\0"; exec env -0'
    done = subprocess.run(["bash", "-c", command, script], stdout=subprocess.PIPE, check=False)
    variables = done.stdout.partition(MARK)[2].split(b"\0")
    pairs = (os.fsdecode(variable).partition("=") for variable in variables if variable)
    return {
        name: value
        for name, _, value in pairs
        if NAME.fullmatch(name) and name not in SHELL_OWN and os.environ.get(name) != value
    }


def main() -> int:
    """Print the exports; a script that cannot be sourced gives a line on stderr, never a failed launch."""
    script = sys.argv[1]
    try:
        exports = exported_by(script)
    except OSError as error:
        print(f"adapter: {script} is not sourced: no bash ({error.strerror})", file=sys.stderr)
        return 0
    for name, value in exports.items():
        sys.stdout.buffer.write(os.fsencode(f"export {name}={shlex.quote(value)}\n"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
