"""runner/device-nodes: the NPU device nodes exist and this user may open them."""

from __future__ import annotations

import functools

from healthcheck.core.check import Findings, NotApplicable, check, fail
from healthcheck.core.records import Finding
from healthcheck.extensions.runner.records import RunnerFacts
from healthcheck.extensions.runner.stage import RUNNER
from healthcheck.extensions.runner.wording import RUN_FLAGS, listed, npus, opening
from healthcheck.text.messages import msg


@check(
    "runner/device-nodes",
    msg("The NPU device nodes exist and this user may open them"),
    stage=RUNNER,
    why=msg("Programs reach an NPU through /dev/davinciN and the driver's own device nodes."),
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
            raise NotApplicable(msg("there is no NPU on this machine, as --allow-none permits"))
        yield _none(facts)
        return
    fault = functools.partial(facts.fault, fix=_nodes_fix(facts))
    paths = [node.path for node in facts.nodes]
    if not paths:
        yield fault(expected=msg("/dev/davinciN for each NPU"), seen=msg("none of them"))
    elif facts.wanted.npus and len(paths) < facts.wanted.npus:
        seen = msg("{nodes} device nodes: {path}", nodes=len(paths), path=listed(paths))
        yield fault(expected=msg("{npus}, as --npus says", npus=npus(facts.wanted.npus)), seen=seen)
    names = {entry.path.removeprefix("/dev/") for entry in facts.control}
    managers = {"davinci_manager", "davinci_manager_docker"}
    missing = sorted({"devmm_svm", "hisi_hdc"} - names) + (
        [] if names & managers else ["davinci_manager"]
    )
    if missing and paths:
        seen = msg("no {value}", value=listed([f"/dev/{name}" for name in missing]))
        yield fault(expected=msg("the driver's device nodes"), seen=seen)
    nodes = (*facts.nodes, *facts.control)
    closed = [node for node in nodes if node.closed]
    if closed:
        one, user = closed[0], facts.host.user or msg("this user")
        seen = msg(
            "{path} belongs to {owner}:{group} with mode {mode:o}, and {closed} of {nodes} nodes are "
            "closed to {user}",
            path=one.path,
            owner=one.owner,
            group=one.group,
            mode=one.mode,
            closed=len(closed),
            nodes=len(nodes),
            user=user,
        )
        expected = msg("device nodes that this user may read and write")
        yield facts.fault(expected=expected, seen=seen, fix=opening(one))


def _none(facts: RunnerFacts) -> Finding:
    gpus: str = ""
    if facts.host.gpus:
        gpus = msg(
            "; it has GPUs ({gpus}), which cannot be used here",
            gpus=listed(list(facts.host.gpus), 2),
        )
    smi = msg("no npu-smi") if facts.smi.output.missing else msg("no chip in npu-smi")
    smi += f" ({facts.smi.codes[0]})" if facts.smi.codes else ""
    expected = npus(facts.wanted.npus) if facts.wanted.npus else msg("an Ascend NPU")
    seen = msg(
        "this machine has no Ascend NPU: no /dev/davinci nodes, {smi}, none on the PCI bus{gpus}",
        smi=smi,
        gpus=gpus,
    )
    otherwise = "" if facts.wanted.npus else msg(", or pass --allow-none if it needs no NPU")
    fix = msg("run it on a machine with an NPU") + otherwise
    return fail(expected=expected, seen=seen, fix=fix, where="/dev/davinci*")


def _nodes_fix(facts: RunnerFacts) -> str:
    if facts.host.container:
        return msg("start the container with {run_flags}", run_flags=RUN_FLAGS)
    return msg(
        "install and load the NPU driver (and restart the machine); then ls -l /dev/davinci*"
    )
