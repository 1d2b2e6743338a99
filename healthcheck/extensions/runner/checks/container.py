"""runner/container: the container has the mounts that NPUs need."""

from __future__ import annotations

from healthcheck.core.check import Findings, NotApplicable, note, warn
from healthcheck.extensions.runner.declared import npu_check
from healthcheck.extensions.runner.records import MOUNTS, RunnerFacts
from healthcheck.extensions.runner.wording import RUN_FLAGS
from healthcheck.text.messages import msg


@npu_check(
    "runner/container",
    msg("The container was started with the mounts that NPUs need"),
    why=msg(
        "A container sees only those NPUs, drivers and tools of the host that its flags pass to it."
    ),
)
def container(facts: RunnerFacts) -> Findings:
    r"""vllm-ascend's documented `docker run` mounts, beside the device nodes, the driver's libraries and version
    file, /usr/local/dcmi, npu-smi and /etc/ascend_install.info (which set_env.sh reads). A missing mount warns,
    with its flag; if the devices computed correctly it is only mentioned. With --runtime=ascend the container
    runtime mounts the devices by ASCEND_VISIBLE_DEVICES, and some of these files stay hidden.

    To repair: start the container again with the flags of the message.

    Example:
    ```console
    $ docker run IMAGE npu-adapter runner
    ```

    Use instead:

    ```console
    $ docker run -v /usr/local/dcmi:/usr/local/dcmi \
        -v /usr/local/Ascend/driver/lib64/:/usr/local/Ascend/driver/lib64/ \
        -v /usr/local/Ascend/driver/version.info:/usr/local/Ascend/driver/version.info \
        -v /etc/ascend_install.info:/etc/ascend_install.info \
        -v /usr/local/bin/npu-smi:/usr/local/bin/npu-smi IMAGE npu-adapter runner
    ```
    """
    if not facts.host.container:
        raise NotApplicable(msg("this does not appear to be a container"))
    flags = [f"-v {path}:{path}" for path in MOUNTS if path not in facts.host.mounts]
    if facts.smi.output.missing:
        flags.append("-v /usr/local/bin/npu-smi:/usr/local/bin/npu-smi")
    if not flags:
        return
    seen = msg("{flags} of the documented mounts are missing", flags=len(flags))
    if facts.computed:
        yield note(
            msg(
                "{seen}, and the devices work all the same: {flags}",
                seen=seen,
                flags=" ".join(flags),
            )
        )
    else:
        fix = msg("docker run {run_flags}", run_flags=" ".join(flags) if facts.nodes else RUN_FLAGS)
        yield warn(expected=msg("the documented mounts"), seen=seen, fix=fix)
