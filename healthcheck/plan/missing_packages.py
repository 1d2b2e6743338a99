"""Whether the engine of a server, and each module that it is told to load, is installed."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from healthcheck import contract
from healthcheck.check import fail, note, warn
from healthcheck.plan import requested
from healthcheck.plan.commands import NAME_CHARACTERS
from healthcheck.plan.records import LaunchPlan, ServerCommand
from healthcheck.plan.servers.served import option_place
from healthcheck.records import Finding

_PACKAGES = {
    "sglang": "sglang", "lmdeploy": "lmdeploy", "llama.cpp": "llama-cpp-python", "mindie": "", "tgi": "",
    "fastchat": "fschat", "ollama": "", "xinference": "xinference", "swift": "ms-swift",
    "llamafactory": "llamafactory", "trtllm": "tensorrt-llm", "litellm": "litellm", "aphrodite": "aphrodite-engine",
    "ktransformers": "ktransformers", "proxy": "", "tritonserver": "",
}  # fmt: skip
"""Engines missing from the vllm-ascend image, with their PyPI package ("" if there is none)."""
_OTHER_NAMES = {"swift": "swift", "llamafactory": "llama_factory", "llama.cpp": "llama_cpp"}
_EXPECTED_CODE = "Python code from the repository, requirements.txt or the image"

_ON_THE_PATH = 'before the server: export PYTHONPATH="$PWD${PYTHONPATH:+:$PYTHONPATH}"'


def missing_code(plan: LaunchPlan) -> Iterator[Finding]:
    """Classes and modules on the server's command line that nothing is known to install."""
    server = plan.server
    for spelled in server.missing_code if server else ():
        if top := _unknown_top(plan, spelled):
            others = requested.packages(plan) - requested.libraries()
            unsure = bool(others) or requested.brings_unknown(plan)
            say = warn if unsure else fail
            yield say(
                expected=_EXPECTED_CODE,
                seen=f"{spelled[:NAME_CHARACTERS]}: no module {top} is in the repository, on PYTHONPATH or in "
                "requirements.txt" + ("; whether an installed package provides it is unknown" if unsure else ""),
                fix=f"commit {top}.py and, {_ON_THE_PATH}; or name its package in requirements.txt",
                where=option_place(plan, spelled),
            )
    for spelled in server.beside_code if server else ():
        if top := _unknown_top(plan, spelled):
            yield warn(
                expected=_EXPECTED_CODE,
                seen=f"{spelled[:NAME_CHARACTERS]}: {top} is in the working directory, where the program vllm "
                "looks for modules only if PYTHONPATH names it",
                fix=_ON_THE_PATH,
                where=option_place(plan, spelled),
            )


def _unknown_top(plan: LaunchPlan, spelled: str) -> str:
    """The top-level name of a module, "" if it is known to be installed."""
    top = spelled.rsplit(maxsplit=1)[-1].partition(".")[0]
    known = (
        top in requested.libraries() or top in sys.stdlib_module_names or top.lower() in requested.packages(plan)
    )
    return "" if known else top


def foreign_engines(plan: LaunchPlan) -> Iterator[Finding]:
    """Servers whose engine is not in the image, as far as is known, and is not installed."""
    engines = {server.engine: server for server in reversed(plan.servers) if server.engine in _PACKAGES}
    for engine, server in engines.items():
        if not _is_installed(plan, engine):
            yield _not_installed(engine, server)
    if plan.server and plan.server.engine in {"sglang", "lmdeploy", "llama.cpp"}:
        yield note(
            f"the options of {plan.server.engine} were not judged: what is catalogued is vLLM's",
            where=plan.server.where,
        )


def _is_installed(plan: LaunchPlan, engine: str) -> bool:
    names = {(_PACKAGES[engine] or engine).replace("-", "_"), _OTHER_NAMES.get(engine, engine)}
    return bool(names & requested.packages(plan)) or requested.brings_unknown(plan)


def _not_installed(engine: str, server: ServerCommand) -> Finding:
    package = _PACKAGES[engine]
    name = server.command.partition(" ")[0] if engine == "proxy" else engine
    return warn(
        expected="an engine that the image has, or that requirements.txt or deploy.sh installs",
        seen=f"{name} is started and nothing installs it: {server.command}; the official vllm-ascend image has "
        "vLLM and not this engine (that the service uses this image is inferred)",
        fix=("install it in deploy.sh" + (f", and name {package} in requirements.txt" if package else ""))
        + f", or: {contract.LAUNCH}",
        where=server.where,
    )
