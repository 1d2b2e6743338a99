"""plan/engine-installed: the engine is installed."""

from __future__ import annotations

import re
from dataclasses import replace

from healthcheck import contract
from healthcheck.core.check import Findings, check, note, warn
from healthcheck.core.records import Finding
from healthcheck.stages.plan import requested
from healthcheck.stages.plan.image import STUBS
from healthcheck.stages.plan.records import LaunchPlan, RecordedCommand, ServerCommand
from healthcheck.text.messages import msg

_PACKAGES = {
    "sglang": "sglang", "lmdeploy": "lmdeploy", "llama.cpp": "llama-cpp-python", "mindie": "", "swift": "ms-swift",
    "xinference-local": "xinference", "llamafactory": "llamafactory",
}  # fmt: skip
"""Engines and programs missing from the vllm-ascend image, with their PyPI package ("" if there is none)."""
_MODULES = {"llamafactory": "llama_factory"}
_PROGRAMS = frozenset(STUBS["server.sh"]) - {"transformers"}
"""Other servers that the image lacks, of unknown engines."""
_RUNNERS = frozenset({"uv", "uvx", "poetry", "pipenv"})
"""Programs that run others in an environment of theirs, which the image lacks."""
_WORKS = frozenset({"run", "pip", "venv", "sync", "install"})


@check(
    "plan/engine-installed",
    msg("The engine is installed"),
    why=msg("A server whose engine nothing installs does not start."),
    requires=("repo/deploy-sh-present",),
)
def engine_installed(plan: LaunchPlan) -> Findings:
    """The official vllm-ascend image has vLLM. Another engine (SGLang, LMDeploy, llama.cpp, MindIE …), and what
    starts vLLM in an environment of its own (uv, poetry, pipenv), has to be named in requirements.txt or installed
    by deploy.sh. That the service uses this image is inferred, so what is missing is a warning.

    Example:
    ```sh
    exec python3 -m sglang.launch_server --model-path "$MODEL_PATH" --port {port}
    ```

    Use instead:

    ```sh
    pip install sglang
    exec python3 -m sglang.launch_server --model-path "$MODEL_PATH" --port {port}
    ```
    """
    others = replace(
        plan, commands=tuple(each for each in plan.commands if each.program not in _RUNNERS)
    )
    if not requested.brings_unknown(others):
        runners = {
            each.program: each for each in reversed(plan.commands) if _runs_others(each, plan)
        }
        runs = {name: (" ".join(each.argv), each.where) for name, each in runners.items()}
        servers = {
            name: each for each in reversed(plan.servers) if (name := _missing_in_the_image(each))
        }
        runs |= {name: (each.command, each.where) for name, each in servers.items()}
        for name, (command, where) in runs.items():
            names = {
                (_PACKAGES.get(name) or name).replace("-", "_"),
                name.replace(".", "_"),
                _MODULES.get(name, name),
            }
            if not names & requested.packages(others):
                yield _not_installed(name, command, where)
    if plan.server and plan.server.engine in {"sglang", "lmdeploy", "llama.cpp"}:
        seen = msg(
            "the options of {engine} were not checked: the kit has a catalogue only for vLLM",
            engine=plan.server.engine,
        )
        yield note(seen, where=plan.server.where)


def _runs_others(command: RecordedCommand, plan: LaunchPlan) -> bool:
    """Whether the command needs a runner that the script does not look for first."""
    looks = re.search(rf"\b(?:command -v|which|type|hash)\s+{command.program}\b", plan.script)
    works = command.program == "uvx" or bool(_WORKS & set(command.argv[1:2]))
    return command.program in _RUNNERS and works and not looks


def _missing_in_the_image(server: ServerCommand) -> str:
    """The engine, or the program of an unknown engine; "" if the image has it."""
    program = server.command.partition(" ")[0]
    of_a_program = server.engine in {"proxy", "unknown"} and program in _PROGRAMS
    return server.engine if server.engine in _PACKAGES else program if of_a_program else ""


def _not_installed(name: str, command: str, where: str) -> Finding:
    package = _PACKAGES.get(name, "")
    also = msg(", and name {package} in requirements.txt", package=package) if package else ""
    expected = msg("a program that the image has, or that requirements.txt or deploy.sh installs")
    seen = msg(
        "{name} is started and nothing installs it: {quoted}; the official vllm-ascend image has "
        "vLLM and not this (that the service uses this image is inferred)",
        name=name,
        quoted=command,
    )
    fix = msg("install it in deploy.sh") + also + msg(", or: {launch}", launch=contract.LAUNCH)
    return warn(expected=expected, seen=seen, fix=fix, where=where)
