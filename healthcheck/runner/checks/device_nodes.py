"""runner/device-nodes: the NPU device nodes exist and this user may open them."""

from __future__ import annotations

from healthcheck.check import Findings, NotApplicable, check, fail
from healthcheck.records import Finding, Stage
from healthcheck.runner.records import RunnerFacts
from healthcheck.runner.wording import RUN_FLAGS, fault, listed, npus


@check(
    "runner/device-nodes",
    "The NPU device nodes exist and this user may open them",
    stage=Stage.RUNNER,
    why="Programs reach an NPU through /dev/davinciN and the driver's own device nodes.",
)
def device_nodes(facts: RunnerFacts) -> Findings:
    r"""Each NPU chip has a node /dev/davinciN, and the driver has /dev/davinci_manager, /dev/devmm_svm and
    /dev/hisi_hdc. The user that runs the server must be able to read and write them (group HwHiAiUser).

    The numbers are those of the host: a container with one card may have only /dev/davinci5.

    To repair: on a host, install the driver and load it. In a container, add the device flags to `docker run`:
    --device /dev/davinciN for each card, --device /dev/davinci_manager, --device /dev/devmm_svm,
    --device /dev/hisi_hdc. For permissions: usermod -a -G HwHiAiUser USER, and log in again.

    On a machine without an NPU, pass --allow-none: the checks of NPUs are then skipped.

    Example:
    ```console
    $ docker run --device /dev/davinci5 IMAGE npu-adapter runner
    ```

    Use instead:

    ```console
    $ docker run --device /dev/davinci5 --device /dev/davinci_manager --device /dev/devmm_svm \
        --device /dev/hisi_hdc IMAGE npu-adapter runner
    ```
    """
    if not facts.present:
        if facts.wanted.allow_none:
            raise NotApplicable("there is no NPU on this machine, as --allow-none permits")
        yield _none(facts)
        return
    if not facts.nodes:
        yield fault(facts, expected="/dev/davinciN for each NPU", seen="none of them", fix=_nodes_fix(facts))
    elif facts.wanted.npus and len(facts.nodes) < facts.wanted.npus:
        yield fault(
            facts,
            expected=f"{npus(facts.wanted.npus)}, as --npus says",
            seen=f"{len(facts.nodes)} device nodes: {listed([node.path for node in facts.nodes])}",
            fix=_nodes_fix(facts),
        )
    names = {entry.path.removeprefix("/dev/") for entry in facts.control}
    managers = {"davinci_manager", "davinci_manager_docker"}
    missing = sorted({"devmm_svm", "hisi_hdc"} - names) + ([] if names & managers else ["davinci_manager"])
    if missing and facts.nodes:
        seen = f"no {listed([f'/dev/{name}' for name in missing])}"
        yield fault(facts, expected="the driver's device nodes", seen=seen, fix=_nodes_fix(facts))
    closed = [e for e in (*facts.nodes, *facts.control) if not (e.readable and e.writable)]
    if closed:
        one = closed[0]
        yield fault(
            facts,
            expected="device nodes that this user may read and write",
            seen=f"{one.path} belongs to {one.owner}:{one.group} with mode {one.mode:o}, and {len(closed)} of "
            f"{len(facts.nodes) + len(facts.control)} nodes are closed to {facts.host.user or 'this user'}",
            fix=f"as root: usermod -a -G {one.group or 'HwHiAiUser'} USER, then log in again; or run as root",
        )


def _none(facts: RunnerFacts) -> Finding:
    gpus = (
        f"; it has GPUs ({listed(list(facts.host.gpus), 2)}), which cannot be used here" if facts.host.gpus else ""
    )
    smi = "no npu-smi" if facts.smi.output.missing else "no chip in npu-smi"
    smi += f" ({facts.smi.codes[0]})" if facts.smi.codes else ""
    return fail(
        expected=npus(facts.wanted.npus) if facts.wanted.npus else "an Ascend NPU",
        seen=f"this machine has no Ascend NPU: no /dev/davinci nodes, {smi}, none on the PCI bus{gpus}",
        fix="run it on a machine with an NPU"
        + ("" if facts.wanted.npus else ", or pass --allow-none if it needs no NPU"),
        where="/dev/davinci*",
    )


def _nodes_fix(facts: RunnerFacts) -> str:
    if facts.host.container:
        return f"start the container with {RUN_FLAGS}"
    return "install and load the NPU driver (and restart the machine); then ls -l /dev/davinci*"
