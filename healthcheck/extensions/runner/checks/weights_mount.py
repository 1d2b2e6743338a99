"""runner/weights-mount: the mount of the weights is fast enough to read them in time."""

from __future__ import annotations

from healthcheck.core.check import Findings, NotApplicable, note, warn
from healthcheck.extensions.runner.declared import check
from healthcheck.extensions.runner.records import RunnerFacts
from healthcheck.extensions.runner.wording import GB, READY_S
from healthcheck.text.messages import msg


@check(
    "runner/weights-mount",
    "These weights are read in time from where they are mounted",
    why="vLLM gives up on an engine that is not ready in ten minutes, and reading weights is most of that time.",
)
def weights_mount(facts: RunnerFacts) -> Findings:
    """Where MODEL_PATH names a folder, adds up its files and divides by the speed at which its largest file was
    read: half a second and at most 512 MiB, past the page cache, so that nothing of the host's cache is dropped.
    More than 10 minutes warns. A file system that can only be read through the cache (some network and user
    space file systems) may look faster than it is; the report says so.

    runner/disk does the same for the {limit} that weights may have.

    To repair: copy the weights to a local disk and set MODEL_PATH to it, or raise VLLM_ENGINE_READY_TIMEOUT_S in
    deploy.sh.

    Example:
    80 GB over a network file system that reads 90 MB a second:

    ```console
    $ du -sB GB $MODEL_PATH
    80GB    /mnt/share/Qwen3-32B
    $ dd if=$MODEL_PATH/model-00001-of-00017.safetensors of=/dev/null bs=4M iflag=direct count=10
    41943040 bytes (42 MB, 40 MiB) copied, 0.466 s, 90 MB/s
    ```

    Use instead:

    ```console
    $ du -sB GB $MODEL_PATH
    80GB    /data/Qwen3-32B
    $ dd if=$MODEL_PATH/model-00001-of-00017.safetensors of=/dev/null bs=4M iflag=direct count=10
    41943040 bytes (42 MB, 40 MiB) copied, 0.023 s, 1800 MB/s
    ```
    """
    whole, speed = facts.host.weights_bytes, facts.host.speed
    if whole is None:
        raise NotApplicable(msg("MODEL_PATH names no folder here"))
    if speed is None or not speed.read_bytes:
        raise NotApplicable(msg("no file of the weights could be read for a measurement"))
    mount = facts.host.mount
    place = msg(" on {kind} at {at}", mount.kind, mount.at) if mount else ""
    seconds = whole / speed.bytes_per_s
    caution = msg("; read through the page cache, so it may be slower") if speed.cached else ""
    rate = f"{speed.bytes_per_s / 10**6:.0f} MB/s"
    figures = whole / GB, place, rate, seconds / 60, caution
    seen = msg("{whole:.1f} GB{place} at {rate}: {seconds:.1f} min to read{caution}", *figures)
    if seconds > READY_S:
        expected = msg("the weights read within {ready_s} min", READY_S // 60)
        fix = msg("copy the weights to a local disk, or raise VLLM_ENGINE_READY_TIMEOUT_S in deploy.sh")
        yield warn(expected=expected, seen=seen, fix=fix)
    else:
        yield note(seen)
