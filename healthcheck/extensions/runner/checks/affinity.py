"""runner/affinity: this process may use the processors near its devices."""

from __future__ import annotations

from healthcheck.core.check import Findings, NotApplicable, note, warn
from healthcheck.core.records import Finding
from healthcheck.extensions.runner.declared import npu_check
from healthcheck.extensions.runner.records import RunnerFacts
from healthcheck.extensions.runner.wording import listed
from healthcheck.text.messages import msg

PROCESSORS_EACH = 5
"""MIN_CPUS_PER_NPU of vllm-ascend (vllm_ascend/cpu_binding.py)."""
_BOUND = ("aarch64", "arm")


@npu_check(
    "runner/affinity",
    "This process may use the processors near its devices",
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
    processors = facts.host.processors
    if not processors.allowed:
        raise NotApplicable(msg("the processors that this process may use are not known"))
    devices = max(len(facts.in_use), 1)
    if len(processors.allowed) < PROCESSORS_EACH * devices:
        seen = msg("{allowed} processors for {devices} devices", len(processors.allowed), devices)
        expected = msg("{processors_each} processors a device", PROCESSORS_EACH)
        yield _said(facts, seen, expected=expected, where="/proc/self/status")
    shown = facts.used(facts.neighbours)
    if not shown:
        yield note(msg("npu-smi does not say which processors are near: nothing is compared"))
    far = [each.name for each in shown if each.processors and not each.processors & processors.allowed]
    if far:
        seen, expected = msg("none for {far}", listed(far)), msg("a processor near each device")
        yield _said(facts, seen, expected=expected, where=f"{facts.smi.command} info -t topo")


def _said(facts: RunnerFacts, seen: str, *, expected: str, where: str) -> Finding:
    if not facts.host.processors.machine.startswith(_BOUND):
        return note(msg("expected {expected}: {seen}; vllm-ascend binds on ARM alone", expected, seen), where=where)
    fix = msg("docker run without --cpuset-cpus, or with the processors of `npu-smi info -t topo`")
    return warn(expected=expected, seen=seen, fix=fix, where=where)
