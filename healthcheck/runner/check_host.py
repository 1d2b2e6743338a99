"""Checks of the machine around the NPUs: disk, shared memory, port, limits, environment, container."""

from __future__ import annotations

import itertools

from healthcheck import contract
from healthcheck.check import Findings, NotApplicable, check, fail, note, warn
from healthcheck.records import Stage
from healthcheck.runner.records import RunnerFacts
from healthcheck.runner.wording import GB, RUN_FLAGS, needs_npu

SHM_BYTES = 10**9
SLOW_LOAD_S = 600
"""vLLM's VLLM_ENGINE_READY_TIMEOUT_S: an engine that is not ready by then is given up."""
OPEN_FILES = 65535
"""What vLLM raises its own limit to, if the hard limit lets it."""
NEEDED_MOUNTS = (
    ("/usr/local/dcmi", "-v /usr/local/dcmi:/usr/local/dcmi"),
    ("/usr/local/Ascend/driver/lib64", "-v /usr/local/Ascend/driver/lib64/:/usr/local/Ascend/driver/lib64/"),
    (
        "/usr/local/Ascend/driver/version.info",
        "-v /usr/local/Ascend/driver/version.info:/usr/local/Ascend/driver/version.info",
    ),
    ("/etc/ascend_install.info", "-v /etc/ascend_install.info:/etc/ascend_install.info"),
)


@check(
    "runner/disk",
    "The disk holds the weights and reads them in time",
    stage=Stage.RUNNER,
    why="Weights may have up to 100 GB, and all of them are read at every start.",
)
def disk(facts: RunnerFacts) -> Findings:
    """The folder looked at is MODEL_PATH, where the weights are; where it is not set, the working folder, which
    then needs 100 GB free (the service's limit for weights). Its disk is read for half a second, past the page
    cache, and the time follows that 100 GB take to load. More than 10 minutes warns: vLLM gives an engine up that
    is not ready by then (VLLM_ENGINE_READY_TIMEOUT_S).

    To repair: run it in a folder of a larger or faster disk (local NVMe instead of a network disk), or set
    MODEL_PATH to the weights.
    """
    seen = facts.host
    given = "MODEL_PATH" in seen.variables and seen.folder != "."
    if given and not seen.folder_exists:
        yield warn(
            expected="the folder that MODEL_PATH names",
            seen=f"{seen.folder} is not there",
            fix="mount the weights there, or unset MODEL_PATH",
        )
        return
    place = seen.folder if given else "the working folder"
    if seen.disk and not given and seen.disk.free_bytes < contract.MAX_WEIGHT_BYTES:
        yield warn(
            expected=f"{contract.MAX_WEIGHT_BYTES // GB} GB free for weights",
            seen=f"{seen.disk.free_bytes / GB:.0f} GB free in {place}",
            fix="free some, or keep the weights on another disk and set MODEL_PATH",
            evidence={"free_bytes": seen.disk.free_bytes},
        )
    elif seen.disk:
        yield note(f"{seen.disk.free_bytes / GB:.0f} GB free in {place}")
    if seen.speed and seen.speed.read_bytes:
        rate = seen.speed.bytes_per_s
        load_s = contract.MAX_WEIGHT_BYTES / rate
        said = f"{rate / 10**6:.0f} MB/s, so 100 GB take {load_s / 60:.1f} min to load (read: {seen.speed.of})"
        if load_s > SLOW_LOAD_S:
            yield warn(
                expected=f"100 GB loaded within {SLOW_LOAD_S // 60} min",
                seen=said,
                fix="keep the weights on a faster disk, or raise VLLM_ENGINE_READY_TIMEOUT_S in deploy.sh",
            )
        else:
            yield note(said)


@check(
    "runner/shm",
    "Shared memory is large enough",
    stage=Stage.RUNNER,
    why="vLLM's processes hand each other requests and results through /dev/shm.",
)
def shm(facts: RunnerFacts) -> Findings:
    """It should have 1 GB (/dev/shm): vllm-ascend's documented `docker run` has --shm-size=1g. Docker's own
    default is 64 MB, and several workers on one machine end with "No space left on device" or a bus error there.

    To repair: docker run --shm-size=1g (or --ipc=host); in Kubernetes an emptyDir of medium Memory on /dev/shm.
    """
    space = facts.host.shm
    if space is None:
        yield warn(
            expected="1 GB of shared memory", seen="no /dev/shm", fix="mount -t tmpfs -o size=1g tmpfs /dev/shm"
        )
    elif min(space.total_bytes, space.free_bytes) < SHM_BYTES:
        yield warn(
            expected="1 GB free in /dev/shm",
            seen=f"{space.free_bytes / 10**6:.0f} of {space.total_bytes / 10**6:.0f} MB free",
            fix="docker run --shm-size=1g, or delete what old servers left in /dev/shm",
        )


@check(
    "runner/port",
    "Port 8000 is free",
    stage=Stage.RUNNER,
    why="The service speaks to port 8000 and to no other.",
    rule=contract.LISTENS_ON_PORT,
)
def port(facts: RunnerFacts) -> Findings:
    """Nothing else may hold port 8000 on the machine that is to serve, on IPv4 or IPv6.

    To repair: stop the process that the message names; on a CI runner it is often the server of a job before, and
    the job should end its servers itself.
    """
    for holder in facts.host.holders:
        owner = holder.process
        yield fail(
            expected="port 8000 free",
            seen=f"{owner or 'a process that this user may not see'} on {holder.address}",
            fix=f"stop it: kill {owner.pid}" if owner else "find it as root (ss -ltnp 'sport = :8000') and stop it",
        )


@check(
    "runner/open-files",
    "A server may open enough files",
    stage=Stage.RUNNER,
    why="Each connection and each worker's pipe is an open file.",
)
def open_files(facts: RunnerFacts) -> Findings:
    """VLLM raises its soft limit of open files to 65535 where the hard limit lets it. A lower hard limit warns:
    many streams at once then end with "Too many open files".

    To repair: docker run --ulimit nofile=65535:65535; on a host /etc/security/limits.conf.
    """
    _, hard = facts.host.open_files
    if hard is not None and hard < OPEN_FILES:
        yield warn(
            expected=f"a hard limit of {OPEN_FILES} open files",
            seen=str(hard),
            fix=f"docker run --ulimit nofile={OPEN_FILES}:{OPEN_FILES}",
            where="ulimit -Hn",
        )


@check(
    "runner/visible-devices",
    "The variables that choose devices are right",
    stage=Stage.RUNNER,
    why="A wrong ASCEND_RT_VISIBLE_DEVICES leaves a process without any device.",
)
def visible_devices(facts: RunnerFacts) -> Findings:
    """ASCEND_RT_VISIBLE_DEVICES holds numbers from 0, in ascending order, each once, of devices that exist; in a
    container they count the mounted cards from 0, whatever the host's numbers are. In another order CANN ends with
    107001. Where torch_npu counts as many devices as it names, and all compute right, a fault in it only warns.
    CUDA_VISIBLE_DEVICES does nothing on an NPU.

    To repair: write it in order, or unset it and let the server take the first devices.
    """
    needs_npu(facts)
    set_ = facts.host.variables
    text = set_.get("ASCEND_RT_VISIBLE_DEVICES")
    if text is not None:
        wrong = _wrong(facts, text)
        if wrong:
            named = len(facts.visible or ()) or facts.torch.count
            say = warn if facts.computed and facts.torch.count == named else fail
            yield say(
                expected="device numbers from 0, ascending, of devices that exist",
                seen=f"ASCEND_RT_VISIBLE_DEVICES={text[:80]!r}: {wrong}",
                fix="unset ASCEND_RT_VISIBLE_DEVICES, or write it in ascending order, as 0,1,2,3",
            )
    if "CUDA_VISIBLE_DEVICES" in set_:
        yield warn(
            expected="ASCEND_RT_VISIBLE_DEVICES",
            seen="CUDA_VISIBLE_DEVICES is set, and does nothing here",
            fix="unset it; ASCEND_RT_VISIBLE_DEVICES chooses NPUs",
        )


def _wrong(facts: RunnerFacts, text: str) -> str:
    numbers = facts.visible
    if not text.strip():
        return "it is empty, which should hide every device"
    if numbers is None:
        return "not a list of numbers"
    if any(after <= before for before, after in itertools.pairwise(numbers)):
        return "not in ascending order"
    there = len(facts.smi.chips)
    beyond = [number for number in numbers if there and number >= there]
    return f"there are {there} devices, so no {beyond[0]}" if beyond else ""


@check(
    "runner/proxy",
    "No proxy stands before this machine's own server",
    stage=Stage.RUNNER,
    why="A client on the machine that sends 127.0.0.1 through a proxy never reaches the server.",
)
def proxy(facts: RunnerFacts) -> Findings:
    """With http_proxy or all_proxy set, no_proxy should hold localhost and 127.0.0.1; else the evaluation's client,
    and HCCL's and Ray's own requests, may go to the proxy.

    To repair: export no_proxy=localhost,127.0.0.1 (and NO_PROXY the same).
    """
    set_ = facts.host.variables
    proxies = [name for name in set_ if name.lower() in {"http_proxy", "all_proxy"} and set_[name]]
    past = {word.strip().lower() for name in ("no_proxy", "NO_PROXY") for word in set_.get(name, "").split(",")}
    missing = [name for name in ("localhost", "127.0.0.1") if name not in past]
    if proxies and missing and "*" not in past:
        yield warn(
            expected="no_proxy with localhost and 127.0.0.1",
            seen=f"{proxies[0]} is set, and no_proxy has no {' and no '.join(missing)}",
            fix="export no_proxy=localhost,127.0.0.1",
        )


@check(
    "runner/container",
    "The container was started with what NPUs need",
    stage=Stage.RUNNER,
    why="A container sees the host's NPUs, driver and tools only as far as its start-up flags say.",
)
def container(facts: RunnerFacts) -> Findings:
    """vllm-ascend's documented `docker run` mounts, beside the device nodes, the driver's libraries and version
    file, /usr/local/dcmi, npu-smi and /etc/ascend_install.info (set_env.sh reads that one). What is missing is
    listed with its flag; where the devices computed right, it is only mentioned. With --runtime=ascend the
    container runtime mounts the devices by ASCEND_VISIBLE_DEVICES, and some of these files stay hidden.

    To repair: start the container again with the flags of the message.
    """
    needs_npu(facts)
    if not facts.host.container:
        raise NotApplicable("this is no container, as far as it shows")
    flags = [flag for path, flag in NEEDED_MOUNTS if path not in facts.host.mounts]
    if facts.smi.output.missing:
        flags.append("-v /usr/local/bin/npu-smi:/usr/local/bin/npu-smi")
    if not flags:
        return
    seen = f"{len(flags)} of the documented mounts are missing"
    if facts.computed:
        yield note(f"{seen}, and the devices work all the same: {' '.join(flags)}")
    else:
        whole = not facts.nodes
        yield warn(
            expected="the documented mounts", seen=seen, fix=f"docker run {RUN_FLAGS if whole else ' '.join(flags)}"
        )


CHECKS = (disk, shm, port, open_files, visible_devices, proxy, container)
