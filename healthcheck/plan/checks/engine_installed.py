"""plan/engine-installed: the engine is installed."""

from __future__ import annotations

from healthcheck.check import Findings, check
from healthcheck.plan import missing_packages
from healthcheck.plan.records import LaunchPlan
from healthcheck.records import Stage


@check(
    "plan/engine-installed",
    "The engine is installed",
    stage=Stage.PLAN,
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
    yield from missing_packages.foreign_engines(plan)
