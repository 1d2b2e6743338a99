"""How every command starts: before anything is imported, the caller's folder is taken off the search path.

`python3 -I -m healthcheck` is the same command as `npu-adapter`.

`python -m` puts that folder in front, and so does an empty entry of PYTHONPATH, as the set_env.sh of CANN leaves
one: a json.py of the repository that is looked at would be run instead of Python's own. Without -I (or -P), Python
itself looks into the folder that it is started in, before anything of this runs.
"""

import os
import sys


def main() -> int:
    """Run one command; the exit status."""
    forget_the_callers_folder()
    from healthcheck.cli import main as command  # noqa: PLC0415 - not before

    return command()


def forget_the_callers_folder() -> None:
    """Remove from sys.path the working directory and every entry that is relative to it."""
    try:
        here = os.path.realpath(os.getcwd())
    except OSError:  # it was removed
        here = ""
    sys.path[:] = [entry for entry in sys.path if os.path.isabs(entry) and os.path.realpath(entry) != here]


if __name__ == "__main__":
    raise SystemExit(main())
