"""Reads the stubs' knowledge of the image and the machine from a file that the kit writes."""

from __future__ import annotations

import functools
import json
import os
import sys
from typing import Any

IMAGE = "image.json"
UNKNOWN_VERSION = "1.0.0"
"""Version of a package that the image may have in any version."""
_KIT = sys.argv[1] if len(sys.argv) > 1 else ""
_VISIBLE = "ASCEND_RT_VISIBLE_DEVICES"


@functools.cache
def _image() -> dict[str, Any]:
    with open(f"{_KIT}/{IMAGE}", encoding="ascii") as file:
        return dict(json.load(file))


def root() -> str:
    """The folder of the submission in the sandbox."""
    return str(_image()["root"])


def script() -> str:
    """The name of the script that the service runs."""
    return str(_image()["script"])


def other_folder() -> str:
    """The working directory of the script, "" for its own folder."""
    return str(_image().get("folder", ""))


def server_modules() -> tuple[str, ...]:
    """The modules of the engines that the kit knows, which start a server by `python -m`."""
    return tuple(_image().get("server_modules", ()))


def packages() -> dict[str, str]:
    """The versions of the packages that scripts query, by pip's names."""
    return dict(_image().get("versions", {}))


def dependencies() -> list[str]:
    """Other packages that the image has, by pip's names: the requirements of vLLM and vllm-ascend."""
    return list(_image().get("dependencies", []))


def module_version(module: str) -> str:
    """The value of `module.__version__`."""
    return str(
        _image().get("python_versions", {}).get(module)
        or packages().get(pip_name(module), UNKNOWN_VERSION)
    )


def pip_name(module: str) -> str:
    """A name in pip's spelling."""
    return module.lower().replace("_", "-")


def cuda_only() -> dict[str, list[str]]:
    """Packages that need CUDA, with their modules."""
    return dict(_image().get("cuda_only", {}))


def devices() -> dict[str, Any]:
    """The devices, as plan.facts shows them."""
    return dict(_image()["devices"])


def visible_devices() -> int:
    """The number of devices for torch_npu: those in ASCEND_RT_VISIBLE_DEVICES up to the first missing one."""
    count, listed = int(devices()["count"]), os.environ.get(_VISIBLE, "")
    if not listed:
        return count
    numbers = [int(word) if word.strip().isdigit() else count for word in listed.split(",")]
    return next((at for at, number in enumerate(numbers) if number >= count), len(numbers))
