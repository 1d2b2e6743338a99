"""plan/engine-installed: the engine is installed."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from healthcheck import contract
from healthcheck.core.check import Findings, check, note, warn
from healthcheck.core.records import Finding
from healthcheck.engines.base import Engine
from healthcheck.engines.known import LAUNCHES
from healthcheck.stages.plan import requested
from healthcheck.stages.plan.image import SERVER_STUB, STUBS
from healthcheck.stages.plan.records import LaunchPlan, RecordedCommand, ServerCommand
from healthcheck.text.messages import msg

_PACKAGES = {"xinference-local": "xinference"}
"""The PyPI packages of programs that start an unrecognised engine."""
_ENGINES = {
    launch.engine.name: launch.engine for launch in LAUNCHES if launch.engine.package is not None
}
"""The engines that the vllm-ascend image lacks, by name."""
_PROGRAMS = frozenset(STUBS[SERVER_STUB]) - {"transformers"}
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
        missing = {
            name: _Missing(name=name, command=" ".join(each.argv), where=each.where)
            for name, each in runners.items()
        }
        servers = (found for each in reversed(plan.servers) if (found := _missing_in_image(each)))
        missing |= {each.name: each for each in servers}
        for each in missing.values():
            if not each.modules & requested.packages(others):
                yield _not_installed(each)
    if (
        plan.server
        and plan.server.engine.options.decide_port
        and not plan.server.engine.is_catalogued
    ):
        seen = msg(
            "the options of {engine} were not checked: the kit has a catalogue only for vLLM",
            engine=plan.server.engine.name,
        )
        yield note(seen, where=plan.server.where)


def _runs_others(command: RecordedCommand, plan: LaunchPlan) -> bool:
    """Whether the command needs a runner that the script does not look for first."""
    looks = re.search(rf"\b(?:command -v|which|type|hash)\s+{command.program}\b", plan.script)
    works = command.program == "uvx" or bool(_WORKS & set(command.argv[1:2]))
    return command.program in _RUNNERS and works and not looks


@dataclass(frozen=True, slots=True, kw_only=True)
class _Missing:
    """An engine or a program that runs, and that the image lacks.

    Attributes:
        package: the PyPI package, "" if none is known. `module`: its module, if it is not named like the package.
    """

    name: str
    command: str
    where: str
    package: str = ""
    module: str = ""

    @property
    def modules(self) -> set[str]:
        """The names under which an installation may have it."""
        package = (self.package or self.name).replace("-", "_")
        return {package, self.name.replace(".", "_"), self.module or self.name}


def _missing_in_image(server: ServerCommand) -> _Missing | None:
    """The engine, or the program of an unknown engine; None if the image has it."""
    engine, program = server.engine, server.command.partition(" ")[0]
    if engine.of_many_programs and program in _PROGRAMS:
        by_program = Engine(name=program, package=_PACKAGES.get(program, ""))
        engine = _ENGINES.get(program, by_program)
    if engine.package is None:
        return None
    return _Missing(
        name=engine.name,
        command=server.command,
        where=server.where,
        package=engine.package,
        module=engine.module,
    )


def _not_installed(missing: _Missing) -> Finding:
    package = missing.package
    also = msg(", and name {package} in requirements.txt", package=package) if package else ""
    expected = msg("a program that the image has, or that requirements.txt or deploy.sh installs")
    seen = msg(
        "{name} is started and nothing installs it: {quoted}; the official vllm-ascend image has "
        "vLLM and not this (that the service uses this image is inferred)",
        name=missing.name,
        quoted=missing.command,
    )
    fix = msg("install it in deploy.sh") + also + msg(", or: {launch}", launch=contract.LAUNCH)
    return warn(expected=expected, seen=seen, fix=fix, where=missing.where)
