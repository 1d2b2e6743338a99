"""Software of the service's image that this machine may lack: a launch that fails without it proves nothing.

`vllm: not found` on a laptop is not a fault of a submission. It is a fault if the machine has vllm and deploy.sh
loses it (another PATH, an empty environment), so the kit looks for software that the log reports missing.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from healthcheck.stages.service.blocks import Line
from healthcheck.stages.service.records import Launch, LaunchOutcome
from healthcheck.system import programs
from healthcheck.text.messages import msg

PROGRAMS = ("vllm", "npu-smi")
MODULES = (
    *(
        "vllm",
        "vllm_ascend",
        "torch",
        "torch_npu",
        "torchair",
        "torchvision",
        "torchaudio",
        "triton",
    ),
    *("acl", "te", "hccl"),
)
INSTEAD = msg(
    "verify here with --until weights; launch where the image's software is (an NPU machine with "
    "the vllm-ascend image), or name a server that runs there: --url http://HOST:{port}"
)
"""A message with a placeholder."""
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
_ERROR = re.compile(
    r"^[\w.]*(?:Error|Exception)(?:: |$)|: error: |: (?:(?:command )?not found|No such file or directory)$"
)
_PASSES_ON = re.compile(
    r"CalledProcessError|ChildFailedError|Engine core init|EngineDead|WorkerProc init|to import "
)
_CANN = Path("/usr/local/Ascend")
_DEVICES = Path("/dev")
_ASK_S = 20.0


def judged(launch: Launch, environment: Mapping[str, str]) -> Launch:
    """Add the missing software that the launch failed on, in words; software that it survived without is not its
    cause.
    """
    last, cause = _last_error(launch), launch.diagnosis.cause
    if cause and not last and _names(_joined(cause.lines)):
        return replace(launch, diagnosis=replace(launch.diagnosis, cause=None))
    return replace(launch, not_here=tuple(dict.fromkeys(_missing(last, environment))))


def _last_error(launch: Launch) -> str:
    """The lines of the log that name possibly missing software; "" if the launch got past that."""
    if not _came_to_nothing(launch):
        return ""
    diagnosis = launch.diagnosis
    cause = diagnosis.cause.lines if diagnosis.cause else ()
    last = [Line(sys.maxsize, line.strip()) for line in launch.log_tail[-1:]]
    lines = sorted({*cause, *diagnosis.block, *last}, key=lambda line: line.number)
    end = "".join(launch.log_tail[-1:])  # a missing npu-smi ended nothing if lines follow
    named = [
        each
        for each in lines
        if _names(each.text) and ("npu-smi" not in each.text or each.text.strip() in end)
    ]
    after = [line.text for line in lines if named and line.number > named[-1].number]
    return (
        ""
        if any(_ERROR.search(text) and not _PASSES_ON.search(text) for text in after)
        else _joined(named)
    )


def _came_to_nothing(launch: Launch) -> bool:
    """Whether no server came up: a server on another port, or one that answers wrongly, has what it needs."""
    if launch.outcome in {LaunchOutcome.SILENT, LaunchOutcome.TIMED_OUT}:
        return not launch.listeners and not launch.other_ports
    return launch.outcome in {
        LaunchOutcome.EXITED,
        LaunchOutcome.BACKGROUNDED,
        LaunchOutcome.RESTARTING,
    }


def _names(text: str) -> bool:
    return any(pattern.search(text) for pattern in (_PROGRAM, _MODULE, _LIBRARY, _NO_PLATFORM))


def _joined(lines: Iterable[Line]) -> str:
    return "\n".join(line.text for line in lines)


def _missing(text: str, environment: Mapping[str, str]) -> Iterator[str]:
    for match in _PROGRAM.finditer(text):
        name = match["name"] or match["quoted"]
        if programs.find(name, path=environment.get("PATH")) is None:
            yield msg("no `{name}` command", name=name)
    for name in dict.fromkeys(match["name"] for match in _MODULE.finditer(text)):
        if not _can_import(name, environment):
            yield msg("no Python module {name}", name=name)
    library = _LIBRARY.search(text)
    if library and not _has_cann(environment):
        yield msg("no CANN ({library})", library=library["name"])
    if _NO_PLATFORM.search(text) and not any(_DEVICES.glob("davinci[0-9]*")):
        yield msg("no NPU")


def _can_import(name: str, environment: Mapping[str, str]) -> bool:
    python = programs.find("python3", path=environment.get("PATH"))
    if python is None:
        return False
    look = f"import importlib.util, sys; sys.exit(importlib.util.find_spec({name!r}) is None)"
    try:
        asked = subprocess.run(
            [python, "-c", look],
            cwd="/",
            env=dict(environment),
            capture_output=True,
            timeout=_ASK_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return True
    return asked.returncode == 0


def _has_cann(environment: Mapping[str, str]) -> bool:
    homes = (
        value
        for key, value in environment.items()
        if key.startswith("ASCEND") and value.startswith("/")
    )
    return any(Path(home.partition(":")[0]).is_dir() for home in (str(_CANN), *homes))
