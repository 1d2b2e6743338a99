"""runner/container-runtime: the container engine of the host can start containers with NPUs."""

from __future__ import annotations

import functools

from healthcheck.core.check import Findings, NotApplicable, note, warn
from healthcheck.extensions.runner.declared import npu_check
from healthcheck.extensions.runner.engines import CONFIGURATION, MOUNT_LIST
from healthcheck.extensions.runner.records import RunnerFacts
from healthcheck.text.messages import msg

ASCEND = "ascend"


@npu_check(
    "runner/container-runtime",
    "The container engine of the host can start containers with NPUs",
    why="Jobs run in containers; a runtime whose program is gone starts none of them.",
)
def container_runtime(facts: RunnerFacts) -> Findings:
    """On a host, reads Docker's configuration. Ascend Docker Runtime adds the runtime `ascend` there, with the
    program /usr/local/Ascend/Ascend-Docker-Runtime/ascend-docker-runtime. It is not needed: the documented
    `docker run` of vllm-ascend names devices and mounts. So its absence is only mentioned. A configuration that
    cannot be read, a runtime whose program is not there, and a default runtime that is not defined warn: no
    container starts then.

    To repair: install Ascend Docker Runtime again, or take its entry out of /etc/docker/daemon.json; then systemctl
    restart docker.

    Example:
    ```json daemon.json
    {"default-runtime": "ascend", "runtimes": {"ascend": {"path": "/opt/gone/ascend-docker-runtime"}}}
    ```

    Use instead:

    ```json daemon.json
    {"runtimes": {}}
    ```
    """
    engine = facts.engine
    if facts.host.container:
        raise NotApplicable(msg("this is a container; run it on the host too"))
    if not engine.sockets and not engine.configured:
        raise NotApplicable(msg("there is no container engine that this kit knows"))
    wrong = functools.partial(warn, where=CONFIGURATION)
    if engine.fault:
        fix = msg("correct the file; systemctl restart docker")
        yield wrong(expected=msg("a configuration that Docker can read"), seen=engine.fault, fix=fix)
    for name in engine.missing:
        expected = msg("the program of the runtime {name}", name)
        seen = msg("{runtimes} is not there", engine.runtimes[name])
        fix = msg("install Ascend Docker Runtime again, or take the entry out; systemctl restart docker")
        yield wrong(expected=expected, seen=seen, fix=fix)
    if engine.default and engine.default != "runc" and engine.default not in engine.runtimes:
        expected = msg("a default runtime that is defined")
        seen = msg("{default} is not among the runtimes", engine.default)
        fix = msg("define it, or take default-runtime out; systemctl restart docker")
        yield wrong(expected=expected, seen=seen, fix=fix)
    if ASCEND in engine.runtimes and ASCEND not in engine.missing and not engine.mount_list:
        yield note(msg("{mount_list}, which Ascend Docker Runtime writes, is not there", MOUNT_LIST))
    if ASCEND not in engine.runtimes and not engine.fault:
        yield note(msg("without Ascend Docker Runtime: name devices and mounts in docker run, as documented"))
