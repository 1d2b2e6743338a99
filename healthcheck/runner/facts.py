"""Gathers the facts of a machine, once: first the cheap ones, then computations on the devices."""

from __future__ import annotations

import glob
from collections.abc import Mapping

from healthcheck import contract, stacks
from healthcheck.progress import Progress
from healthcheck.runner import installed, npu_smi, npu_smi_queries, probes
from healthcheck.runner.machine import Child, Machine, Output
from healthcheck.runner.memory import smi_info
from healthcheck.runner.npu_smi import Holder, SmiError, Table
from healthcheck.runner.npu_smi_queries import Fields
from healthcheck.runner.records import Cann, Hccl, Host, RunnerFacts, Smi, Software, Torch, Wanted

TORCH_S = 300.0
"""For the import of torch_npu and the first operator of every device, compiled on a cold cache."""
HCCL_S = 240.0
MAX_BOARDS = 16
CONTROL = ("davinci_manager", "davinci_manager_docker", "devmm_svm", "hisi_hdc")
MOUNTS = (
    "/usr/local/dcmi",
    "/usr/local/Ascend/driver/lib64",
    "/usr/local/Ascend/driver/version.info",
    "/etc/ascend_install.info",
)
VARIABLES = (
    "ASCEND_RT_VISIBLE_DEVICES",
    "ASCEND_VISIBLE_DEVICES",
    "CUDA_VISIBLE_DEVICES",
    "MODEL_PATH",
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "no_proxy",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
)
_ASCEND_ON_PCI = "19e5d"
"""Vendor Huawei; its NPUs are devices d1xx (310), d5xx (310P) and d8xx (910); nothing else of it begins with d."""


def gather(machine: Machine, wanted: Wanted, progress: Progress) -> RunnerFacts:
    """Look at the machine.

    Raises:
        UsageError: `wanted.stack` names no row of the version matrix.
    """
    asked = stacks.row(wanted.stack) if wanted.stack else None
    progress.update("device nodes and npu-smi")
    nodes = tuple(entry for entry in machine.paths("/dev/davinci[0-9]*") if entry.path[12:].isdigit())
    smi = _smi(machine, expected=bool(nodes))
    cann = installed.cann(machine)
    progress.update("versions")
    software = probes.software(machine.python(Child.VERSIONS))
    torch = _torch(machine, software, cann, progress)
    host = _host(machine, measured=bool(nodes or smi.chips or torch.count), progress=progress)
    return RunnerFacts(
        wanted=wanted,
        nodes=nodes,
        control=tuple(entry for name in CONTROL for entry in machine.paths(f"/dev/{name}")),
        smi=smi,
        torch=torch,
        hccl=_hccl(machine, torch, wanted, cann, progress),
        cann=cann,
        driver=installed.driver(machine),
        software=software,
        host=host,
        row=asked or stacks.nearest(versions(software, cann)).row,
    )


def versions(software: Software, cann: Cann) -> Mapping[str, str]:
    """Every version that the matrix has a column for, "" if it is not known."""
    named = {name: software.packages.get(name, "") for name in ("vllm_ascend", "vllm", "torch", "torch_npu")}
    named["triton_ascend"] = software.packages.get("triton_ascend", "")
    return {**named, "python": software.python, "cann": cann.toolkits[0].version if cann.toolkits else ""}


def _smi(machine: Machine, *, expected: bool) -> Smi:
    command, output = smi_info(machine, expected=expected)
    text = output.text
    try:
        table = npu_smi.parse(text)
    except SmiError as error:
        codes = npu_smi.error_codes(text)
        return Smi(command=command, output=output, complaint=str(error), codes=codes, boards={})
    cards = tuple(dict.fromkeys(chip.npu for chip in table.chips))[:MAX_BOARDS]
    return Smi(
        command=command,
        output=output,
        table=table,
        codes=npu_smi.error_codes(text),
        mapping=npu_smi_queries.mapping(machine.run(command, "info", "-m").stdout),
        boards={npu: _board(machine.run(command, "info", "-t", "board", "-i", str(npu))) for npu in cards},
        memory_holders=_memory_holders(machine, command, table) if table.holders is None else table.holders,
    )


def _board(output: Output) -> Fields:
    return npu_smi_queries.fields(output.stdout)


def _memory_holders(machine: Machine, command: str, table: Table) -> tuple[Holder, ...]:
    """The processes with memory on the chips, queried one by one if the table of chips does not list them."""
    found: list[Holder] = []
    for chip in table.chips[:MAX_BOARDS]:
        said = machine.run(command, "info", "-t", "proc-mem", "-i", str(chip.npu), "-c", str(chip.chip))
        found += npu_smi_queries.process_memory(said.stdout, npu=chip.npu, chip=chip.chip)
    return tuple(found)


def _torch(machine: Machine, software: Software, cann: Cann, progress: Progress) -> Torch:
    """A trial of torch_npu as deploy.sh would run it: with CANN's environment scripts sourced."""
    if not software.packages.get("torch_npu"):
        return Torch()
    progress.update("a matrix product on every device")
    return probes.torch(machine.python(Child.TORCH, sourced=cann.scripts, timeout_s=TORCH_S))


def _hccl(machine: Machine, torch: Torch, wanted: Wanted, cann: Cann, progress: Progress) -> Hccl | None:
    world = min(wanted.npus or len(torch.devices), len(torch.devices))
    if world < 2 or not all(device.right for device in torch.devices[:world]):
        return None
    progress.update(f"an all-reduce over {world} devices")
    output = machine.python(Child.HCCL, str(world), sourced=cann.scripts, timeout_s=HCCL_S)
    return probes.hccl(output, world)


def _host(machine: Machine, *, measured: bool, progress: Progress) -> Host:
    variables = {name: value for name in VARIABLES if (value := machine.variable(name)) is not None}
    weights = variables.get("MODEL_PATH", "")
    folder = weights or "."
    exists = folder == "." or bool(machine.paths(glob.escape(folder)))
    progress.update("disk, memory, limits")
    return Host(
        user=machine.run("id").stdout.strip()[:500],
        container=_container(machine),
        mounts=tuple(path for path in MOUNTS if machine.paths(path)),
        folder=folder,
        folder_exists=exists,
        disk=machine.space(folder),
        speed=machine.read_speed(folder) if exists and (measured or weights) else None,
        shm=machine.space("/dev/shm"),  # noqa: S108 - the very thing that is looked at
        open_files=_open_files(machine),
        port_holders=machine.port_holders(contract.PORT),
        variables=variables,
        accelerators=_accelerators(machine),
        gpus=tuple(entry.path for entry in (*machine.paths("/dev/nvidia[0-9]*"), *machine.paths("/dev/kfd"))),
    )


def _container(machine: Machine) -> str:
    if machine.variable("KUBERNETES_SERVICE_HOST"):
        return "Kubernetes"
    if machine.paths("/.dockerenv"):
        return "Docker"
    if machine.paths("/run/.containerenv"):
        return "Podman"
    groups = machine.read("/proc/1/cgroup") or ""
    return next((word for word in ("docker", "kubepods", "containerd", "lxc") if word in groups), "")


def _open_files(machine: Machine) -> tuple[int | None, int | None]:
    for line in (machine.read("/proc/self/limits") or "").splitlines():
        if line.startswith("Max open files"):
            soft, hard = (*line.removeprefix("Max open files").split(), "", "")[:2]
            return npu_smi.whole(soft), npu_smi.whole(hard)
    return None, None


def _accelerators(machine: Machine) -> tuple[str, ...]:
    lines = (line.split() for line in (machine.read("/proc/bus/pci/devices") or "").splitlines())
    found = (words[1].lower() for words in lines if len(words) > 1)
    return tuple(f"{word[:4]}:{word[4:]}" for word in found if word.startswith(_ASCEND_ON_PCI) and len(word) == 8)
