"""The start of every command: before any import, the working directory is removed from the search path.

`python3 -I -m healthcheck` is the same command as `npu-adapter`.

`python -m` puts the working directory first, and so does an empty entry of PYTHONPATH, as CANN's set_env.sh leaves
it: a json.py of the verified repository would run instead of Python's own. Without -I (or -P), Python itself
imports from the working directory before this module runs.
"""

import os
import sys


def main() -> int:
    """Run one command and return its exit status."""
    forget_the_callers_folder()
    try:
        from healthcheck.cli import main as command  # noqa: PLC0415 - not before

        return command()
    except KeyboardInterrupt:  # during the imports: inconclusive, as ExitStatus has it
        return 3


def forget_the_callers_folder() -> None:
    """Remove from sys.path the working directory and every relative entry."""
    try:
        here = os.path.realpath(os.getcwd())
    except OSError:  # the directory was removed
        here = ""
    sys.path[:] = [
        entry for entry in sys.path if os.path.isabs(entry) and os.path.realpath(entry) != here
    ]


if __name__ == "__main__":
    raise SystemExit(main())
