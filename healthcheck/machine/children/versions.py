"""Prints the Python that would serve and the versions of its packages, without importing them."""

import json
import platform
import sys
from importlib import metadata

NAMES = (
    "torch",
    "torch-npu",
    "vllm",
    "vllm-ascend",
    "transformers",
    "triton-ascend",
    "triton",
    "numpy",
)


def version(name: str) -> str:
    try:
        return metadata.version(name) or ""
    except metadata.PackageNotFoundError:
        return ""


def main() -> None:
    found = {name.replace("-", "_"): version(name) for name in NAMES}
    step = {
        "step": "versions",
        "python": platform.python_version(),
        "executable": sys.executable,
        "packages": {name: text for name, text in found.items() if text},
    }
    print("@npu-adapter " + json.dumps(step), flush=True)


main()
