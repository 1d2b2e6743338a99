"""runner/disk: the disk holds the weights and reads them in time."""

from __future__ import annotations

from healthcheck import contract
from healthcheck.core.check import Findings, check, note, warn
from healthcheck.extensions.runner.records import RunnerFacts
from healthcheck.extensions.runner.stage import RUNNER
from healthcheck.extensions.runner.wording import GB, READY_S
from healthcheck.text.messages import msg


@check(
    "runner/disk",
    msg("The disk holds the weights and reads them in time"),
    stage=RUNNER,
    why=msg("Weights may have up to {limit}, and all of them are read at every start."),
)
def disk(facts: RunnerFacts) -> Findings:
    """Looks at the folder MODEL_PATH. If that is not set, it looks at the working directory, which then needs
    {limit} free (the service's limit for weights). The disk is read for half a second, past the page cache, to
    estimate how long {limit} take to load. More than 10 minutes warns: vLLM gives up on an engine that is not
    ready by then (VLLM_ENGINE_READY_TIMEOUT_S).

    To repair: run it in a folder of a larger or faster disk (local NVMe instead of a network disk), or set
    MODEL_PATH to the weights.

    Example:
    ```console
    $ df -H --output=size,avail .
     Size  Avail
     1000G   50G
    ```

    Use instead:

    ```console
    $ df -H --output=size,avail .
     Size  Avail
     3840G 2100G
    ```
    """
    host = facts.host
    given = "MODEL_PATH" in host.variables and host.folder != "."
    if given and not host.folder_exists:
        expected, seen = (
            msg("the folder that MODEL_PATH names"),
            msg("{folder} is not there", folder=host.folder),
        )
        yield warn(
            expected=expected, seen=seen, fix=msg("mount the weights there, or unset MODEL_PATH")
        )
        return
    if host.disk:
        place, free_bytes = (
            host.folder if given else msg("the working directory"),
            host.disk.free_bytes,
        )
        seen = msg("{free_bytes:.0f} GB free in {place}", free_bytes=free_bytes / GB, place=place)
        if not given and free_bytes < contract.MAX_WEIGHT_BYTES:
            fix = msg("free some, or keep the weights on another disk and set MODEL_PATH")
            yield warn(
                expected=msg("{limit} free for weights", limit=contract.MAX_WEIGHT),
                seen=seen,
                fix=fix,
            )
        else:
            yield note(seen)
    if host.speed and host.speed.read_bytes:
        rate = host.speed.bytes_per_s
        cached = msg(", through the page cache") if host.speed.cached else ""
        load_s = contract.MAX_WEIGHT_BYTES / rate
        seen = msg(
            "{rate:.0f} MB/s, so {limit} take {load_s:.1f} min to load (read: {of}{cached})",
            rate=rate / 10**6,
            limit=contract.MAX_WEIGHT,
            load_s=load_s / 60,
            of=host.speed.of,
            cached=cached,
        )
        if load_s > READY_S:
            expected = msg(
                "{limit} loaded within {ready_s} min",
                limit=contract.MAX_WEIGHT,
                ready_s=READY_S // 60,
            )
            fix = msg(
                "keep the weights on a faster disk, or raise VLLM_ENGINE_READY_TIMEOUT_S in deploy.sh"
            )
            yield warn(expected=expected, seen=seen, fix=fix)
        else:
            yield note(seen)
