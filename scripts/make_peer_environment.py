# ruff: noqa: INP001 - scripts are no package
"""An environment with another evaluation tool or server, for the peer tests and the benchmarks.

    python3 scripts/make_peer_environment.py aisbench      makes .venv-aisbench: 2.2 GB, two minutes
    python3 scripts/make_peer_environment.py lm-eval       makes .venv-lm-eval
    python3 scripts/make_peer_environment.py evalscope     makes .venv-evalscope
    python3 scripts/make_peer_environment.py transformers  makes .venv-transformers: `transformers serve`, 1 GB
    python3 scripts/make_peer_environment.py litellm       makes .venv-litellm: LiteLLM's proxy
    python3 scripts/make_peer_environment.py fastchat      makes .venv-fastchat: FastChat's worker and server, 1 GB
    python3 scripts/make_peer_environment.py llama-cpp     makes .venv-llama-cpp: compiles llama.cpp, 15 minutes

    python3 scripts/make_peer_environment.py fleet         makes .venv-fleet: Ray, 0.4 GB
    python3 scripts/make_peer_environment.py mutants       makes .venv-mutants: mutmut, and what its tests need

The packages beside AISBench have the versions that it needs: with a newer pyarrow its first command fails on numpy,
and a newer setuptools lacks pkg_resources. It accepts any torch; 2.13.0 is the version that vLLM requires, too.
FastChat predates transformers 5 and pydantic 2. llama.cpp is compiled once, and its wheel kept in
.cache/wheels. mutmut 3.8 reads an attribute that pytest 9.2 no longer has.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

import environments

ROOT = Path(__file__).resolve().parents[1]
PEERS = {
    "fleet": ("--editable", f"{ROOT}[fleet]", "ray==2.60.0"),
    "mutants": (
        "--editable",
        str(ROOT),
        "mutmut==3.8.0",
        "pytest<9.2",
        "pytest-timeout>=2.3",
        "hypothesis>=6.100",
    ),
    "aisbench": ("ais-bench-benchmark==3.1.20260630", "pyarrow<20", "setuptools<80"),
    "lm-eval": ("lm-eval[api]==0.4.13",),
    "evalscope": ("evalscope==1.14.1",),
    "transformers": ("transformers[serving]==5.23.0",),
    "litellm": ("litellm[proxy]==1.106.2",),
    "fastchat": (
        "fschat[model_worker]==0.2.36",
        "transformers>=4.51,<5",
        "pydantic<2",
        "fastapi<0.113",
    ),
    "llama-cpp": ("llama-cpp-python[server]==0.3.36", "gguf==0.19.0"),
}
CONSTRAINTS = ("torch==2.13.0",)
FIRST_COMMAND = {
    "fleet": "healthcheck.extensions.fleet.on_ray",
    "mutants": "mutmut, hypothesis",
    "aisbench": "ais_bench.benchmark.cli.main",
    "lm-eval": "lm_eval",
    "evalscope": "evalscope",
    "transformers": "transformers.cli.serving.server",
    "litellm": "litellm.proxy.proxy_server",
    "fastchat": "fastchat.serve.openai_api_server, fastchat.serve.model_worker",
    "llama-cpp": "llama_cpp.server.app, gguf",
}
WHEELS = ROOT / ".cache" / "wheels"
COMPILED = {"llama-cpp": "llama-cpp-python==0.3.36"}
"""Packages of which the registry has sources only."""
COMPILER = (
    *(
        "cmake.define.LLAVA_BUILD=OFF",
        "cmake.define.GGML_LLAMAFILE=OFF",
        "cmake.define.CMAKE_CXX_FLAGS_RELEASE=-O1",
    ),
    *("build.targets=llama", "build.targets=llama-common"),
)
"""Half of the time: no pictures, little optimisation. The omitted parts change speed, not answers."""


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("peer", choices=PEERS)
    peer: str = parser.parse_args().peer
    environment = ROOT / f".venv-{peer}"
    if peer in COMPILED:
        compile_wheel(COMPILED[peer])
    find_links = [WHEELS] if peer in COMPILED else []
    environments.make(
        environment,
        ", ".join(PEERS[peer]),
        PEERS[peer],
        constraints=CONSTRAINTS,
        find_links=find_links,
    )
    quiet = {**os.environ, "LOGDIR": "", "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    subprocess.run(
        [environment / "bin/python", "-c", f"import {FIRST_COMMAND[peer]}"], check=True, env=quiet
    )
    (environment / "ready").touch()
    return 0


def compile_wheel(requirement: str) -> None:
    """Compile the wheel into .cache/wheels, one file at a time, unless it exists."""
    name, _, version = requirement.partition("==")
    if any(WHEELS.glob(f"{name.replace('-', '_')}-{version}-*.whl")):
        return
    options = [word for setting in COMPILER for word in ("--config-settings", setting)]
    subprocess.run(
        [
            sys.executable,
            "-m",
            "pip",
            "wheel",
            "--no-deps",
            "--wheel-dir",
            WHEELS,
            *options,
            requirement,
        ],
        check=True,
        env={**os.environ, "CMAKE_BUILD_PARALLEL_LEVEL": "1"},
    )


if __name__ == "__main__":
    sys.exit(main())
