# ruff: noqa: INP001 - scripts are no package
"""An environment with another evaluation tool or server, for the peer tests and the benchmarks.

    python3 scripts/make_peer_environment.py aisbench      makes .venv-aisbench: 2.2 GB, two minutes
    python3 scripts/make_peer_environment.py lm-eval       makes .venv-lm-eval
    python3 scripts/make_peer_environment.py evalscope     makes .venv-evalscope
    python3 scripts/make_peer_environment.py transformers  makes .venv-transformers: `transformers serve`, 1 GB

What stands beside AISBench is what it needs today: with a newer pyarrow its first command fails on numpy, and with
a newer setuptools there is no pkg_resources. It asks for any torch; 2.13.0 is the one that vLLM asks for, too.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

import environments

PEERS = {
    "aisbench": ("ais-bench-benchmark==3.1.20260630", "pyarrow<20", "setuptools<80"),
    "lm-eval": ("lm-eval[api]==0.4.13",),
    "evalscope": ("evalscope==1.14.1",),
    "transformers": ("transformers[serving]==5.23.0",),
}
CONSTRAINTS = ("torch==2.13.0",)
FIRST_COMMAND = {
    "aisbench": "ais_bench.benchmark.cli.main",
    "lm-eval": "lm_eval",
    "evalscope": "evalscope",
    "transformers": "transformers.cli.serving.server",
}
ROOT = Path(__file__).resolve().parents[1]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("peer", choices=PEERS)
    peer: str = parser.parse_args().peer
    environment = ROOT / f".venv-{peer}"
    environments.make(environment, ", ".join(PEERS[peer]), PEERS[peer], constraints=CONSTRAINTS)
    subprocess.run([environment / "bin/python", "-c", f"import {FIRST_COMMAND[peer]}"], check=True)
    (environment / "ready").touch()
    return 0


if __name__ == "__main__":
    sys.exit(main())
