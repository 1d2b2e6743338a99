# ruff: noqa: INP001 - scripts are no package
"""An environment with the evaluation client AISBench, for the peer tests and the benchmarks; 2 GB.

python3 scripts/make_aisbench_environment.py [DIR]     default .venv-aisbench

The pins beside AISBench are what it needs today: with a newer pyarrow its first command fails on numpy, and with a
newer setuptools there is no pkg_resources.
"""

from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path

AISBENCH = "ais-bench-benchmark==3.1.20260630"
BESIDE = ("pyarrow<20", "setuptools<80")


def main() -> int:
    target = Path(sys.argv[1] if len(sys.argv) > 1 else ".venv-aisbench")
    ready = target / "ready"
    if ready.exists():
        return 0
    venv.create(target, with_pip=True)
    install = [target / "bin/python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*install, *BESIDE, AISBENCH], check=True)
    subprocess.run([target / "bin/python", "-c", "import ais_bench.benchmark.cli.main"], check=True)
    ready.touch()
    return 0


if __name__ == "__main__":
    sys.exit(main())
