"""The processes that hold memory on a chip, as npu-smi names them."""

from __future__ import annotations

from healthcheck.extensions.runner.records import RunnerFacts
from healthcheck.machine.npu_smi import Chip, Holder, holders_on
from healthcheck.text.messages import msg


def holder_words(holder: Holder) -> str:
    """A process as npu-smi names it."""
    name = f" ({holder.name})" if holder.name else ""
    memory = "?" if holder.memory_mib is None else holder.memory_mib
    return msg(
        "process {pid}{name} with {memory_mib} MB", pid=holder.pid, name=name, memory_mib=memory
    )


def freeing(facts: RunnerFacts, chip: Chip) -> str:
    """The repair that frees a chip: the command that ends its processes, if npu-smi names them."""
    pids = [
        str(holder.container_pid or holder.pid)
        for holder in holders_on(chip, facts.smi.memory_holders)
    ]
    if not pids:
        return msg("end the server that holds it, or use another chip")
    place = msg(" on the host") if facts.host.container else ""
    return msg("end it: kill {pids}{place}", pids=" ".join(pids[:8]), place=place)
