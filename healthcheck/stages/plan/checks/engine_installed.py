"""plan/engine-installed: the engine is installed."""

from __future__ import annotations

from healthcheck import contract
from healthcheck.core.check import Findings, check, note, warn
from healthcheck.core.records import Finding
from healthcheck.stages.plan import requested
from healthcheck.stages.plan.records import LaunchPlan, ServerCommand
from healthcheck.text.messages import msg

_PACKAGES = {
    "sglang": "sglang", "lmdeploy": "lmdeploy", "llama.cpp": "llama-cpp-python", "mindie": "", "proxy": "",
    "xinference": "xinference", "swift": "ms-swift", "llamafactory": "llamafactory", "litellm": "litellm",
}  # fmt: skip
"""Engines missing from the vllm-ascend image, with their PyPI package ("" if there is none)."""
_OTHER_NAMES = {"swift": "swift", "llamafactory": "llama_factory", "llama.cpp": "llama_cpp"}


@check(
    "plan/engine-installed",
    "The engine is installed",
    why="A server whose engine nothing installs does not start.",
    requires=("repo/deploy-sh-present",),
)
def engine_installed(plan: LaunchPlan) -> Findings:
    """The official vllm-ascend image has vLLM. Another engine (SGLang, LMDeploy, llama.cpp, MindIE …) has to be
    named in requirements.txt or installed by deploy.sh. That the service uses this image is inferred, so a
    missing engine is a warning.

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
    engines = {server.engine: server for server in reversed(plan.servers) if server.engine in _PACKAGES}
    for engine, server in engines.items():
        names = {(_PACKAGES[engine] or engine).replace("-", "_"), _OTHER_NAMES.get(engine, engine)}
        if not (names & requested.packages(plan) or requested.brings_unknown(plan)):
            yield _not_installed(engine, server)
    if plan.server and plan.server.engine in {"sglang", "lmdeploy", "llama.cpp"}:
        yield note(
            msg("the options of {engine} were not judged: what is catalogued is vLLM's", plan.server.engine),
            where=plan.server.where,
        )


def _not_installed(engine: str, server: ServerCommand) -> Finding:
    package = _PACKAGES[engine]
    name = server.command.partition(" ")[0] if engine == "proxy" else engine
    also = msg(", and name {package} in requirements.txt", package) if package else ""
    return warn(
        expected=msg("an engine that the image has, or that requirements.txt or deploy.sh installs"),
        seen=msg(
            "{name} is started and nothing installs it: {quoted}; the official vllm-ascend image has "
            "vLLM and not this engine (that the service uses this image is inferred)",
            name,
            server.quoted,
        ),
        fix=msg("install it in deploy.sh") + also + msg(", or: {launch}", contract.LAUNCH),
        where=server.where,
    )
