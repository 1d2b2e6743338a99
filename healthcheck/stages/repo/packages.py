"""The packages that the environment provides, and those that need CUDA."""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from packaging.utils import canonicalize_name

from healthcheck.stages.repo import pip_words, shell
from healthcheck.system import json_text
from healthcheck.system.files import DATA
from healthcheck.text.messages import msg

CANN = {"te", "hccl", "hccl-parser", "opc-tool", "auto-tune", "schedule-search", "op-gen", "op-test-frame",
        "llm-datadist", "msobjdump", "show-kernel-debug-data", "topi", "asc-opc-tool"}  # fmt: skip
"""Python packages that the CANN toolkit installs."""
PYTHON = {"python", "python3", "cpython"}
IMAGE = {
    "torch": msg(
        "it decides which torch-npu fits, and another one breaks the torch-npu of the image"
    ),
    "torchvision": msg("it is built for one torch, and replacing it can pull another torch in"),
    "torchaudio": msg("it is built for one torch, and replacing it can pull another torch in"),
    "torchair": msg("it comes with torch-npu"),
    "vllm": msg(
        "the index's build is for CUDA, and it replaces the one that vllm-ascend was installed with"
    ),
    "vllm-ascend": msg("it pins torch and torch-npu, and belongs with the image's CANN"),
    "triton": msg("it overwrites triton-ascend, which uses the same import name"),
    "triton-ascend": msg("the image has the one that fits its CANN"),
}


@functools.cache
def cuda_only() -> Mapping[str, Sequence[str]]:
    """Packages that need CUDA, by normalised name, with the modules that no other package provides."""
    return json_text.load_as((DATA / "packages.json").read_bytes(), _Packages).cuda_only


def needs_cuda(package: str) -> bool:
    """Whether a package (its normalised name) neither builds nor loads without CUDA."""
    return package in cuda_only() or package.startswith(("nvidia-", "cupy-cuda"))


def is_cuda_module(name: str) -> bool:
    """Whether a module comes with a package that needs CUDA."""
    return any(name in modules for modules in cuda_only().values())


@dataclass(frozen=True, slots=True, kw_only=True)
class _Packages:
    cuda_only: Mapping[str, tuple[str, ...]]


def is_standard(name: str) -> bool:
    """Whether the standard library has a module of that name."""
    return name.replace("-", "_") in sys.stdlib_module_names


def provided_part(name: str) -> str:
    """The part of the environment, in the service's words, that a package would reinstall; "" if none."""
    if name == "torch-npu":
        return "torch-npu"
    if (
        name in CANN
        or name.startswith(("cann-", "ascend-cann", "ascend-toolkit"))
        or name == "cann"
    ):
        return "CANN"
    return "Python" if name in PYTHON else ""


def installed_by(script_text: str) -> Iterator[tuple[int, str, str]]:
    """Arguments of pip install in a shell script that name a part of the environment: line, word, package."""
    script = shell.read(script_text)
    for command in script.commands():
        words = [word.value for word in command.words]
        if "install" not in words or not any(
            map(pip_words.is_pip, words[: words.index("install")])
        ):
            continue
        for word in words[words.index("install") + 1 :]:
            found = re.match(r"[A-Za-z][\w.-]*", word)
            name = canonicalize_name(found.group()) if found else ""
            if provided_part(name) or name in IMAGE:
                yield script.line(command.start), word, name
