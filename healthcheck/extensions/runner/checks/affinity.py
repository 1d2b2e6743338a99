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
_BINDS_ON = ("aarch64", "arm")


@npu_check(
    "runner/affinity",
    msg("This process may use the processors near its devices"),
    why=msg(
        "vllm-ascend binds each worker to processors near its device. With distant ones every step is slower."
    ),
)
def affinity(facts: RunnerFacts) -> Findings:
    """Compares `npu-smi info -t topo`, which lists the processors near each device, with those that this process
    may use (Cpus_allowed_list in /proc/self/status). A device without any near processor warns, and so do fewer
    than 5 processors per device: vllm-ascend 0.18 and later then gives up binding ("CPUs available in
    'Cpus_allowed_list' conflict with NUMA affinity", "Each NPU requires at least 5 CPUs"). vllm-ascend only
    binds on ARM; on other machines the check has a note and no warning.

    To repair: omit --cpuset-cpus in `docker run`, or list the processors that the table shows for the devices. In
    Kubernetes, set the topology manager's policy to single-numa-node.

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
    allowed = facts.host.processors.allowed
    if not allowed:
        raise NotApplicable(
            msg("/proc/self/status does not list the processors that this process may use")
        )
    devices = max(len(facts.in_use), 1)
    if len(allowed) < PROCESSORS_EACH * devices:
        seen = msg(
            "processors: {processors}; devices: {devices}", processors=len(allowed), devices=devices
        )
        expected = msg("{processors_each} processors per device", processors_each=PROCESSORS_EACH)
        yield _unbound(facts, expected=expected, seen=seen, where="/proc/self/status")
    near = facts.used(facts.neighbours)
    if not near:
        yield note(
            msg("npu-smi does not list the processors near each device, so nothing was compared")
        )
    distant = [each.name for each in near if each.processors and not each.processors & allowed]
    if distant:
        seen = msg("none for {devices}", devices=listed(distant))
        expected = msg("a processor near each device")
        yield _unbound(
            facts, expected=expected, seen=seen, where=f"{facts.smi.command} info -t topo"
        )


def _unbound(facts: RunnerFacts, *, expected: str, seen: str, where: str) -> Finding:
    """A reason for vllm-ascend not to bind; a note on machines on which it never does."""
    if not facts.host.processors.architecture.startswith(_BINDS_ON):
        text = msg(
            "expected {expected}: {seen}; vllm-ascend only binds workers on ARM",
            expected=expected,
            seen=seen,
        )
        return note(text, where=where)
    fix = msg("omit --cpuset-cpus in docker run, or list the processors of `npu-smi info -t topo`")
    return warn(expected=expected, seen=seen, fix=fix, where=where)
