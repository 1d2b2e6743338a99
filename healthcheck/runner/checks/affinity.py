"""runner/affinity: this process may use the processors near its devices."""

from __future__ import annotations

from collections.abc import Iterator

from healthcheck.core.check import Findings, NotApplicable, check, note, warn
from healthcheck.core.records import Finding, Stage
from healthcheck.runner.records import RunnerFacts
from healthcheck.runner.topology import Neighbours
from healthcheck.runner.wording import listed, needs_npu
from healthcheck.text.messages import msg

PROCESSORS_EACH = 5
"""MIN_CPUS_PER_NPU of vllm-ascend (vllm_ascend/cpu_binding.py)."""
_BOUND = ("aarch64", "arm")


@check(
    "runner/affinity",
    "This process may use the processors near its devices",
    stage=Stage.RUNNER,
    why="vllm-ascend binds each worker to processors near its device; far ones make every step slower.",
)
def affinity(facts: RunnerFacts) -> Findings:
    """Compares `npu-smi info -t topo`, which names the processors near each device, with those that this process
    may use (Cpus_allowed_list in /proc/self/status). A device without any near processor warns, and so do fewer
    than 5 processors a device: vllm-ascend 0.18 and later then gives up binding ("CPUs available in
    'Cpus_allowed_list' conflict with NUMA affinity", "Each NPU requires at least 5 CPUs"). It binds on ARM
    alone; elsewhere this is mentioned.

    To repair: docker run without --cpuset-cpus, or with the processors that the table shows for the devices; in
    Kubernetes the topology manager with the policy single-numa-node.

    Example:
    ```console
    $ npu-smi info -t topo | grep NPU0
    NPU0       X          HCCS       144-167
    $ grep Cpus_allowed_list /proc/self/status
    Cpus_allowed_list:	0-23
    ```

    Use instead:

    ```console
    $ npu-smi info -t topo | grep NPU0
    NPU0       X          HCCS       144-167
    $ grep Cpus_allowed_list /proc/self/status
    Cpus_allowed_list:	0-191
    ```
    """
    needs_npu(facts)
    processors = facts.surroundings.processors
    if not processors.allowed:
        raise NotApplicable(msg("the processors that this process may use are not known"))
    devices = max(len(facts.in_use), 1)
    say_warn = processors.machine.startswith(_BOUND)
    if len(processors.allowed) < PROCESSORS_EACH * devices:
        seen = msg("{allowed} processors for {devices} devices", len(processors.allowed), devices)
        yield _said(
            seen,
            expected=msg("{processors_each} processors a device", PROCESSORS_EACH),
            where="/proc/self/status",
            binds=say_warn,
        )
    shown = _used(facts)
    if not shown:
        yield note(msg("npu-smi does not say which processors are near: nothing is compared"))
    far = [each.name for each in shown if each.processors and not each.processors & processors.allowed]
    if far:
        yield _said(
            msg("none for {far}", listed(far)),
            expected=msg("a processor near each device"),
            where=f"{facts.smi.command} info -t topo",
            binds=say_warn,
        )
    elif shown:
        yield from _nodes(facts, shown)


def _said(seen: str, *, expected: str, where: str, binds: bool) -> Finding:
    if not binds:
        return note(msg("expected {expected}: {seen}; vllm-ascend binds on ARM alone", expected, seen), where=where)
    fix = msg("docker run without --cpuset-cpus, or with the processors of `npu-smi info -t topo`")
    return warn(expected=expected, seen=seen, fix=fix, where=where)


def _used(facts: RunnerFacts) -> tuple[Neighbours, ...]:
    """The devices in the table that will be used; it counts them as a process does."""
    shown = facts.neighbours
    if facts.visible is not None:
        shown = tuple(shown[number] for number in facts.visible if number < len(shown))
    return shown[: facts.wanted.npus]


def _nodes(facts: RunnerFacts, shown: tuple[Neighbours, ...]) -> Iterator[Finding]:
    near = frozenset[int]().union(*(each.processors for each in shown))
    nodes = facts.surroundings.processors.node_of(near)
    if nodes:
        yield note(msg("{shown} devices, near NUMA node {map}", len(shown), listed(list(map(str, nodes)))))
