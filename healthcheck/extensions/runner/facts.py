"""Gathers the facts of a machine once: first the cheap ones, then those of the deeper levels."""

from __future__ import annotations

import glob
from collections.abc import Mapping
from dataclasses import replace

from healthcheck import contract
from healthcheck.ascend import stacks
from healthcheck.ascend.hardware import Family, find
from healthcheck.core.progress import Progress
from healthcheck.extensions.runner import ecc, links, npu_smi_queries, trials
from healthcheck.extensions.runner.asked import Depth
from healthcheck.extensions.runner.host_memory import host_memory
from healthcheck.extensions.runner.links import Links
from healthcheck.extensions.runner.processors import neighbours, processors
from healthcheck.extensions.runner.records import MOUNTS, Host, RunnerFacts, Smi, Wanted
from healthcheck.extensions.runner.whole_machine import WholeMachine
from healthcheck.machine import installed, npu_smi
from healthcheck.machine.devices import smi_info
from healthcheck.machine.installed import Cann, Software
from healthcheck.machine.interface import Entry, Machine
from healthcheck.machine.npu_smi import Holder, SmiError, Table, whole
from healthcheck.text.messages import msg

MAX_BOARDS = 16
CONTROL = ("davinci_manager", "davinci_manager_docker", "devmm_svm", "hisi_hdc")
DEVICES = ("ASCEND_RT_VISIBLE_DEVICES", "ASCEND_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES")
VARIABLES = (*DEVICES, "MODEL_PATH")
_ASCEND_ON_PCI = "19e5d"
"""Vendor Huawei; its NPUs are devices d1xx (310), d5xx (310P) and d8xx (910); its other devices have no d."""


def gather(machine: WholeMachine, wanted: Wanted, progress: Progress) -> RunnerFacts:
    """Examine the machine at the wanted level.

    After the first level, Ctrl-C ends it with the facts so far; `stopped` says so.

    Raises:
        UsageError: `wanted.stack` is not a version.
    """
    facts = _seconds(machine, wanted, progress)
    try:
        if wanted.depth >= Depth.MINUTES:
            facts = trials.minutes(machine, facts, progress)
        if wanted.depth >= Depth.SOAK and not facts.stopped:
            facts = trials.pairs(machine, facts, progress)
        if wanted.depth >= Depth.SOAK and not facts.stopped:
            facts = trials.soak(machine, facts, progress)
    except KeyboardInterrupt:
        return replace(facts, stopped="interrupted")
    return facts


def _seconds(machine: WholeMachine, wanted: Wanted, progress: Progress) -> RunnerFacts:
    """The facts that need no device: files, and queries of the driver."""
    asked = stacks.choose(wanted.stack).row if wanted.stack else None
    progress.update(msg("device nodes and npu-smi"))
    nodes = tuple(
        entry for entry in machine.paths("/dev/davinci[0-9]*") if entry.path[12:].isdigit()
    )
    smi = _smi(machine, expected=bool(nodes))
    cann = installed.cann(machine)
    progress.update("versions")
    software = installed.software(machine)
    host = _host(machine, measured=bool(nodes or smi.chips), progress=progress)
    progress.update(msg("error counters, links, processors"))
    return RunnerFacts(
        wanted=wanted,
        nodes=nodes,
        control=tuple(entry for name in CONTROL for entry in machine.paths(f"/dev/{name}")),
        smi=smi,
        cann=cann,
        driver=installed.driver(machine),
        software=software,
        host=host,
        row=asked or stacks.nearest(versions(software, cann)),
        ecc=ecc.counters(machine, smi.command, smi.cards),
        links=_links(machine, smi, nodes),
        neighbours=neighbours(machine.run(smi.command, "info", "-t", "topo").stdout)
        if smi.chips
        else (),
    )


def _links(machine: Machine, smi: Smi, nodes: tuple[Entry, ...]) -> Links:
    """The network ports of the devices; a 310P has none."""
    if any(npu.family is Family.P310 for chip in smi.chips[:1] for npu in find(chip.kind)):
        return Links(trouble=msg("NPUs of this kind have no network port of their own"))
    numbers = (whole(node.path.removeprefix("/dev/davinci")) for node in nodes)
    return links.query(machine, tuple(number for number in numbers if number is not None))


def versions(software: Software, cann: Cann) -> Mapping[str, str]:
    """Every version with a column in the matrix, "" if unknown."""
    names = ("vllm_ascend", "vllm", "torch", "torch_npu", "triton_ascend")
    return {
        **{name: software.packages.get(name, "") for name in names},
        "python": software.python,
        "cann": cann.version,
    }


def _smi(machine: Machine, *, expected: bool) -> Smi:
    command, output = smi_info(machine, expected=expected)
    smi = Smi(command=command, output=output, codes=npu_smi.error_codes(output.text))
    try:
        table = npu_smi.parse(output.text)
    except SmiError as error:
        return replace(smi, complaint=str(error))
    smi = replace(smi, table=table)
    boards = (
        (npu, machine.run(command, "info", "-t", "board", "-i", str(npu)))
        for npu in smi.cards[:MAX_BOARDS]
    )
    return replace(
        smi,
        mapping=npu_smi_queries.mapping(machine.run(command, "info", "-m").stdout),
        boards={npu: npu_smi_queries.fields(said.stdout) for npu, said in boards},
        memory_holders=_memory_holders(machine, command, table)
        if table.holders is None
        else table.holders,
    )


def _memory_holders(machine: Machine, command: str, table: Table) -> tuple[Holder, ...]:
    """The processes with memory on the chips, queried one by one if the table of chips does not list them."""
    found: list[Holder] = []
    for chip in table.chips[:MAX_BOARDS]:
        said = machine.run(
            command, "info", "-t", "proc-mem", "-i", str(chip.npu), "-c", str(chip.chip)
        )
        found += npu_smi_queries.process_memory(said.stdout, npu=chip.npu, chip=chip.chip)
    return tuple(found)


def _host(machine: WholeMachine, *, measured: bool, progress: Progress) -> Host:
    variables = {name: value for name in VARIABLES if (value := machine.variable(name)) is not None}
    weights = variables.get("MODEL_PATH", "")
    folder = weights or "."
    exists = folder == "." or bool(machine.paths(glob.escape(folder)))
    progress.update(msg("disk, memory, limits"))
    return Host(
        user=machine.run("id").stdout.strip()[:500],
        container=_container(machine),
        mounts=tuple(path for path in MOUNTS if machine.paths(path.rstrip("/"))),
        folder=folder,
        folder_exists=exists,
        disk=machine.space(folder),
        speed=machine.read_speed(folder) if exists and (measured or weights) else None,
        shm=machine.space("/dev/shm"),  # noqa: S108 - the very thing that is looked at
        port_holders=machine.port_holders(contract.PORT),
        variables=variables,
        accelerators=_accelerators(machine),
        gpus=tuple(
            entry.path
            for entry in (*machine.paths("/dev/nvidia[0-9]*"), *machine.paths("/dev/kfd"))
        ),
        processors=processors(machine),
        memory=host_memory(machine),
    )


def _container(machine: Machine) -> str:
    if machine.variable("KUBERNETES_SERVICE_HOST"):
        return "Kubernetes"
    if machine.paths("/.dockerenv"):
        return "Docker"
    if machine.paths("/run/.containerenv"):
        return "Podman"
    groups = machine.read("/proc/1/cgroup") or ""
    return next(
        (word for word in ("docker", "kubepods", "containerd", "lxc") if word in groups), ""
    )


def _accelerators(machine: Machine) -> tuple[str, ...]:
    lines = (line.split() for line in (machine.read("/proc/bus/pci/devices") or "").splitlines())
    found = (words[1].lower() for words in lines if len(words) > 1)
    return tuple(
        f"{word[:4]}:{word[4:]}"
        for word in found
        if word.startswith(_ASCEND_ON_PCI) and len(word) == 8
    )
