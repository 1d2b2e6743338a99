"""runner/stray-triton: no other triton is installed beside triton-ascend."""

from __future__ import annotations

from healthcheck.core.check import Findings, NotApplicable, warn
from healthcheck.extensions.runner.declared import check
from healthcheck.extensions.runner.records import RunnerFacts
from healthcheck.text.messages import msg


@check(
    "runner/stray-triton",
    "No other triton is installed beside triton-ascend",
    why="Both install the module `triton`; the last one to be installed overwrites the other's files.",
)
def stray_triton(facts: RunnerFacts) -> Findings:
    """Looks for the package `triton` in the Python that serves, beside triton-ascend or vllm-ascend.
    vllm-ascend's images remove it and install triton-ascend again afterwards (its Dockerfile). It comes back
    with packages that require it, such as a GPU build of torch.

    To repair: pip uninstall -y triton, then pip install --force-reinstall triton-ascend of that release.

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
    if not {"triton_ascend", "vllm_ascend"} & packages.keys():
        raise NotApplicable(msg("neither triton-ascend nor vllm-ascend is installed"))
    if packages.get("triton"):
        seen, fix = msg("triton {packages}", packages["triton"]), msg("pip uninstall -y triton")
        beside, version = "vllm-ascend", packages.get("triton_ascend")
        if version:
            beside = "triton-ascend"
            fix += msg("; pip install --force-reinstall --no-deps triton-ascend=={packages}", version)
        expected = msg("no package triton beside {beside}", beside)
        yield warn(expected=expected, seen=seen, fix=fix, where=facts.software.executable)
