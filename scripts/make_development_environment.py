# ruff: noqa: INP001 - scripts are no package
"""Makes the kit's own environment, with everything that its tests need; an existing one is removed first.

    python3 scripts/make_development_environment.py .venv
    python3 scripts/make_development_environment.py --check    only check that the kit runs on this Python

Runs on a plain Python, even one that is too old for the kit.
"""

import argparse
import hashlib
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
OLDEST, NEWEST = (3, 10), (3, 14)
"""As in pyproject.toml."""


def main() -> int:
    """Make the environment, or only check the Python; returns 2 if the kit does not run on it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("environment", nargs="?", default=".venv")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    wrong = unfit()
    if wrong:
        print(wrong, file=sys.stderr)
        return 2
    if not options.check:
        import environments  # noqa: PLC0415 - needs a newer Python than the check above

        project = (ROOT / "pyproject.toml").read_bytes()
        what = f"npu-adapter-kit[dev] {hashlib.sha256(project).hexdigest()[:12]}, Python {sys.version.split()[0]}"
        wanted = ["--quiet", "--editable", f"{ROOT}[dev]"]
        environments.make(Path(options.environment), what, wanted, effort="1.1 GB, a minute")
    return 0


def unfit() -> str:
    """Why no environment can be made with this Python, "" if it can."""
    if not OLDEST <= sys.version_info[:2] <= NEWEST:
        known = " to ".join("{}.{}".format(*version) for version in (OLDEST, NEWEST))
        return "{} is Python {}.{}: the kit runs on {}; name one, as in `make demo PYTHON=python3.12`".format(
            sys.executable, *sys.version_info[:2], known
        )
    try:
        import ensurepip  # noqa: F401, PLC0415 - Debian has it in a package of its own
    except ImportError:
        return f"{sys.executable} cannot make environments: apt-get install python3-venv"
    return ""


if __name__ == "__main__":
    sys.exit(main())
