# ruff: noqa: INP001 - scripts are no package
"""An environment in which vLLM's and vllm-ascend's own code builds an engine configuration, without an NPU.

    python3 scripts/make_engine_config.py .venv-engine-config      for `npu-adapter verify --deep`
    python3 scripts/make_engine_config.py FOLDER --vllm 0.18.0 --vllm-ascend 0.18.0      for another row

Tried: vllm-ascend 0.30.0rc2 and 0.30.0rc1 with vLLM 0.30.0, 0.29.0rc1 with 0.29.0; 0.23.0, 0.18.0 and 0.13.0 with
the vLLM of their number. For another row, pass the environment as --engine-python FOLDER.

vLLM is built from its source for no device: without kernels, and without a compiler. vllm-ascend requires torch_npu
and packages on top of CANN; the kit has stubs for them, so they are left out, as are vLLM's requirements for CUDA.
Torch is newer than both require: a registry may have the older versions for CUDA only.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

import environments

MATRIX = Path(__file__).parent.parent / "healthcheck" / "data" / "stacks.json"
ROW = next(row for row in json.loads(MATRIX.read_bytes())["rows"] if "rc" not in row["vllm_ascend"])
"""The default row: the newest final release."""
VLLM, VLLM_ASCEND, TORCH = ROW["vllm"][0], ROW["vllm_ascend"], "2.13.0"
BUILD = ("cmake>=3.26", "jinja2", "ninja", "numpy", "packaging", "setuptools>=77,<81", "setuptools-rust",
         "setuptools-scm>=8", "wheel")  # fmt: skip
NOT_HERE = (
    "torch-npu", "triton-ascend", "memfabric-hybrid", "memcache-hybrid", "arctic-inference", "pandas-stubs",
    "quart", "flashinfer-python", "flashinfer-cubin", "nvidia-cudnn-frontend", "nvidia-cutlass-dsl",
    "fastsafetensors", "humming-kernels", "quack-kernels", "tilelang", "tokenspeed-mla", "tokenspeed-triton",
    "torch-c-dlpack-ext", "cupy-cuda12x",
)  # fmt: skip
"""Packages that need CANN or CUDA, or several hundred megabytes that no configuration uses."""


UNBOUND = ("opencv-python-headless", "fastapi[standard]<0.137")
"""Packages of which the two require conflicting versions: opencv in 0.18.0, fastapi from vLLM 0.25.1 on."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("environment", type=Path)
    parser.add_argument("--vllm", default=VLLM, metavar="VERSION")
    parser.add_argument("--vllm-ascend", default=VLLM_ASCEND, metavar="VERSION")
    options = parser.parse_args()
    environment: Path = options.environment
    what = f"vllm {options.vllm}+empty, vllm-ascend {options.vllm_ascend}, torch {TORCH}"
    if environments.holds(environment, what):
        print(f"{environment}: {what} is there")
        return 0
    environments.make(environment, "what builds vLLM", [f"torch=={TORCH}", *BUILD], effort="2.4 GB, two minutes")
    os.environ |= {"VLLM_TARGET_DEVICE": "empty", "VLLM_VERSION_OVERRIDE": options.vllm}
    os.environ |= {"SOC_VERSION": "ascend910b1", "COMPILE_CUSTOM_KERNELS": "0"}
    environments.install(
        environment,
        [f"vllm=={options.vllm}", f"vllm-ascend=={options.vllm_ascend}"],
        overrides=[f"torch=={TORCH}", *UNBOUND, *(f"{name} ; sys_platform == 'never'" for name in NOT_HERE)],
        options=[
            "--no-binary",
            "vllm",
            *(f"--no-build-isolation-package={name}" for name in ("vllm", "vllm-ascend")),
        ],
    )
    without_plugins = {**os.environ, "VLLM_PLUGINS": ""}  # vllm-ascend's plugin would import torch_npu
    subprocess.run([environment / "bin/python", "-c", "import vllm"], check=True, env=without_plugins)
    environments.stamp(environment, what)
    return 0


if __name__ == "__main__":
    sys.exit(main())
