"""runner/stray-triton: no other triton is installed next to triton-ascend."""

from __future__ import annotations

from healthcheck.core.check import Findings, NotApplicable, check, warn
from healthcheck.extensions.runner.records import RunnerFacts
from healthcheck.extensions.runner.stage import RUNNER
from healthcheck.text.messages import msg


@check(
    "runner/stray-triton",
    msg("No other triton is installed next to triton-ascend"),
    stage=RUNNER,
    why=msg(
        "Both packages install the module `triton`. The one that is installed last overwrites the other's files."
    ),
)
def stray_triton(facts: RunnerFacts) -> Findings:
    """Searches the Python that serves for the package `triton` next to triton-ascend or vllm-ascend. The Dockerfile
    of vllm-ascend removes it and then installs triton-ascend again. Packages that require it, such as a GPU build
    of torch, bring it back.

    To repair: `pip uninstall -y triton`, then `pip install --force-reinstall --no-deps triton-ascend==VERSION` with
    the version of the release.

    Example:
    ```console
    $ pip list | grep triton
    triton         3.2.0
    triton-ascend  3.2.0
    ```

    Use instead:

    ```console
    $ pip list | grep triton
    triton-ascend  3.2.0
    ```
    """
    packages = facts.software.packages
    stray, own = packages.get("triton"), packages.get("triton_ascend")
    if not own and "vllm_ascend" not in packages:
        raise NotApplicable(msg("neither triton-ascend nor vllm-ascend is installed"))
    if not stray:
        return
    fix = msg("pip uninstall -y triton")
    if own:
        fix = msg(
            "pip uninstall -y triton; pip install --force-reinstall --no-deps triton-ascend=={version}",
            version=own,
        )
    yield warn(
        expected=msg(
            "no package triton next to {package}", package="triton-ascend" if own else "vllm-ascend"
        ),
        seen=f"triton {stray}",
        fix=fix,
        where=facts.software.executable,
    )
