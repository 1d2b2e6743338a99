"""What the service's image has and this machine may lack: a launch that fails for want of it says nothing.

`vllm: not found` on a laptop is no fault of a submission. It is one where the machine has vllm and deploy.sh loses
it (another PATH, an empty environment), so what the log misses is looked for on the machine itself.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

from healthcheck.service.records import Launch

PROGRAMS = ("vllm", "npu-smi")
MODULES = (
    *("vllm", "vllm_ascend", "torch", "torch_npu", "torchair", "torchvision", "torchaudio", "triton"),
    *("acl", "te", "hccl"),
)
INSTEAD = (
    "verify here with --until weights; launch where the image's software is (an NPU machine with the vllm-ascend "
    "image), or name a server that runs there: --url http://HOST:8000"
)
_WORDS = "|".join(map(re.escape, PROGRAMS))
_PROGRAM = re.compile(
    rf"(?:^|[\s'\"‘:])(?P<name>{_WORDS})['\"’]?: (?:(?:command )?not found|No such file or directory)"
    rf"|No such file or directory: ['\"](?P<quoted>{_WORDS})['\"]",
    re.MULTILINE,
)
_MODULE = re.compile(rf"No module named ['\"]?(?P<name>{'|'.join(MODULES)})\b")
_LIBRARY = re.compile(
    r"(?P<name>lib(?:hccl|ascendcl|ascend_hal|acl_\w+|ge_\w+|runtime|atb\w*)\.so)[.\d]*: cannot open shared object"
)
_NO_PLATFORM = re.compile(r"Failed to infer device type")
_CANN = Path("/usr/local/Ascend")
_DEVICES = Path("/dev")
_ASK_S = 20.0


def missing(launch: Launch, environment: Mapping[str, str]) -> tuple[str, ...]:
    """What a launch failed for want of, where the service's image has it and this machine has not, in words."""
    diagnosis = launch.diagnosis
    if diagnosis is None:
        return ()
    lines = diagnosis.cause.lines if diagnosis.cause else diagnosis.block
    text = "\n".join(line.text for line in lines if not _survived(line.text, launch.log_tail))
    return tuple(dict.fromkeys(_missing(text, environment)))


def _survived(line: str, tail: tuple[str, ...]) -> bool:
    """Scripts ask npu-smi for the log's sake: it matters only where nothing came after it."""
    return "npu-smi" in line and line.strip() not in "".join(tail[-1:])


def _missing(text: str, environment: Mapping[str, str]) -> Iterator[str]:
    for match in _PROGRAM.finditer(text):
        name = match["name"] or match["quoted"]
        if shutil.which(name, path=environment.get("PATH")) is None:
            yield f"no `{name}` command"
    for name in dict.fromkeys(match["name"] for match in _MODULE.finditer(text)):
        if not _can_import(name, environment):
            yield f"no Python module {name}"
    library = _LIBRARY.search(text)
    if library and not _has_cann(environment):
        yield f"no CANN ({library['name']})"
    if _NO_PLATFORM.search(text) and not any(_DEVICES.glob("davinci[0-9]*")):
        yield "no NPU"


def _can_import(name: str, environment: Mapping[str, str]) -> bool:
    python = shutil.which("python3", path=environment.get("PATH"))
    if python is None:
        return False
    look = f"import importlib.util, sys; sys.exit(importlib.util.find_spec({name!r}) is None)"
    try:
        asked = subprocess.run(
            [python, "-c", look], cwd="/", env=dict(environment), capture_output=True, timeout=_ASK_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return True
    return asked.returncode == 0


def _has_cann(environment: Mapping[str, str]) -> bool:
    homes = (value for key, value in environment.items() if key.startswith("ASCEND") and value.startswith("/"))
    return any(Path(home.partition(":")[0]).is_dir() for home in (str(_CANN), *homes))
