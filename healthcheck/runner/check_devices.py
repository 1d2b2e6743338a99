"""Checks of what the driver shows: device nodes, npu-smi, health, the driver itself.

What a device computed proves more than what npu-smi says, and that more than a device node; so each of these only
warns where every device that is wanted computed right.
"""

from __future__ import annotations

from collections.abc import Callable

from healthcheck.check import Findings, NotApplicable, check, fail, note, unsettled, warn
from healthcheck.records import Finding, Stage
from healthcheck.runner.npu_smi import HEALTHS, Chip
from healthcheck.runner.records import RunnerFacts
from healthcheck.runner.wording import RUN_FLAGS, chip_name, fault, listed, needs_npu, npus

_CAUSES = {
    -8005: (
        "the driver's library could not start (card busy, user not permitted, or driver upgraded, not restarted)",
        "run as root or in group HwHiAiUser; in a container add the device flags; after a driver upgrade restart",
    ),
    -8020: (
        "the card is held by another container (a container without --privileged has its cards for itself)",
        "stop the other container (docker ps), or start both with --privileged",
    ),
    -9005: (
        "npu-smi may not ask the board from inside this container, which says nothing about the NPU itself",
        "nothing needs repair if runner/compute passes; for npu-smi, mount /usr/local/dcmi and the npu-smi binary",
    ),
}


@check(
    "runner/device-nodes",
    "The NPU's device nodes are there and open to this user",
    stage=Stage.RUNNER,
    why="Without /dev/davinciN and the driver's own nodes no program reaches an NPU.",
)
def device_nodes(facts: RunnerFacts) -> Findings:
    """Each NPU chip has a node /dev/davinciN, and the driver has /dev/davinci_manager, /dev/devmm_svm and
    /dev/hisi_hdc. The user that serves must be allowed to read and write them (they belong to group HwHiAiUser).

    The numbers are the host's: in a container with one card the only node may be /dev/davinci5.

    To repair: on a host, install the driver and load it. In a container, add the device flags to `docker run`:
    --device /dev/davinciN for each card, --device /dev/davinci_manager, --device /dev/devmm_svm,
    --device /dev/hisi_hdc. For permissions: usermod -a -G HwHiAiUser USER, and log in again.

    A machine that is meant to have no NPU is asked for with --allow-none; what is about NPUs is skipped then.
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
    gpus = f"; it has GPUs ({listed(list(facts.host.gpus), 2)}), which are no use here" if facts.host.gpus else ""
    smi = "no npu-smi" if facts.smi.output.missing else "no chip in npu-smi"
    smi += f" ({facts.smi.codes[0]})" if facts.smi.codes else ""
    return fail(
        expected=npus(facts.wanted.npus) if facts.wanted.npus else "an Ascend NPU",
        seen=f"this machine has no Ascend NPU: no /dev/davinci nodes, {smi}, none on the PCI bus{gpus}",
        fix="run it on a machine with an NPU"
        + ("" if facts.wanted.npus else ", or with --allow-none where none is meant"),
        where="/dev/davinci*",
    )


def _nodes_fix(facts: RunnerFacts) -> str:
    if facts.host.container:
        return f"start the container with {RUN_FLAGS}"
    return "install and load the NPU driver (and restart the machine); then ls -l /dev/davinci*"


@check(
    "runner/npu-smi",
    "npu-smi shows the NPUs",
    stage=Stage.RUNNER,
    why="vllm-ascend and this kit learn from npu-smi which chips there are, how they are, and who holds them.",
)
def npu_smi(facts: RunnerFacts) -> Findings:
    """`npu-smi info` should exit with 0 and print a table with every chip.

    Its exit status is not enough: errors of the driver's library also stand in the text. -8005: the library could
    not start (the card is busy, the user may not, or the driver was upgraded without a restart). -8020: another
    container that is not privileged holds the card. -9005: npu-smi may not ask the board in this container;
    torch_npu may still work, so this is no proof of a dead NPU and only warns.

    Where every device computed right (runner/compute), all of it only warns.

    To repair: what the message says; in a container also mount npu-smi and /usr/local/dcmi.
    """
    needs_npu(facts)
    smi = facts.smi
    where = f"{smi.command} info"
    yield from _errors(facts, where)
    if smi.table is None and not smi.codes:
        yield _no_table(facts, where)
    elif smi.table and smi.output.status:
        yield warn(
            expected="exit status 0",
            seen=f"{smi.output.status}, beside a table of chips",
            fix="run it by hand and read its last lines",
            where=where,
        )
    if smi.table and facts.wanted.npus and len(smi.chips) < facts.wanted.npus:
        yield fault(
            facts,
            expected=f"{npus(facts.wanted.npus)}, as --npus says",
            seen=f"{len(smi.chips)}: {listed(list(map(chip_name, smi.chips)))}",
            fix="give the container or the machine the cards that are missing, or ask for fewer",
            where=where,
        )
    if lacking := _lacking(facts):
        yield warn(
            expected="a row for every chip",
            seen=f"{len(smi.chips)} chips, but {lacking}: the health of the others is not known",
            fix="run npu-smi info by hand, as root too",
            where=where,
        )
    if smi.table:
        yield note(
            f"{len(smi.chips)} × {smi.chips[0].name}, npu-smi {smi.table.tool or 'of unknown version'}", where=where
        )


def _errors(facts: RunnerFacts, where: str) -> Findings:
    """One finding a code of the driver's library in npu-smi's output."""
    for code in facts.smi.codes:
        cause, fix = _CAUSES.get(
            code, ("the driver's library reports an error", "look the code up in the DCMI API")
        )
        fix = _specific(facts, code) or fix
        seen = f"ret is {code}: {cause}"
        if code == -9005:
            yield warn(expected="npu-smi without errors", seen=seen, fix=fix, where=where)
        else:
            yield fault(facts, expected="npu-smi without errors", seen=seen, fix=fix, where=where)


def _lacking(facts: RunnerFacts) -> str:
    """What shows that the table has not all chips, "" where nothing does."""
    smi, count = facts.smi, facts.torch.count or 0
    if smi.table is None:
        return ""
    if smi.table.cut:
        return "the table was cut in the middle of a chip"
    if len(smi.mapping) > len(smi.chips):
        return f"`npu-smi info -m` lists {len(smi.mapping)}"
    return f"torch_npu counts {count}" if count > len(smi.chips) else ""


def _specific(facts: RunnerFacts, code: int) -> str:
    """The repair of a code of several causes, where the machine shows which one it is."""
    if code != -8005:
        return ""
    if facts.driver.newer_than_boot:
        return "restart the machine: its driver was installed after its last start"
    closed = next((node for node in facts.nodes if not (node.readable and node.writable)), None)
    if closed:
        return f"as root: usermod -a -G {closed.group or 'HwHiAiUser'} USER, then log in again; or run as root"
    return ""


def _no_table(facts: RunnerFacts, where: str) -> Finding:
    output = facts.smi.output
    if output.missing:
        fix = (
            "mount npu-smi and /usr/local/dcmi into the container" if facts.host.container else "install the driver"
        )
        return fault(facts, expected="npu-smi", seen="it is not installed here", fix=fix, where=where)
    if output.trouble or output.status:
        seen = output.trouble or f"exit status {output.status}: {facts.smi.complaint}"
        return fault(facts, expected="a table of chips", seen=seen, fix="run it by hand, as root too", where=where)
    say = warn if facts.computed else unsettled
    return say(
        expected="a table of chips in a layout that this kit knows",
        seen=facts.smi.complaint,
        fix="report it with the file that --save writes; meanwhile trust runner/compute",
        where=where,
    )


@check(
    "runner/health",
    "The chips that will be used are healthy",
    stage=Stage.RUNNER,
    why="vllm-ascend's own health check treats anything but OK as an error; an urgent one can end a run half-way.",
)
def health(facts: RunnerFacts) -> Findings:
    """npu-smi's Health column: OK; Warning is a minor fault and warns here, since such machines were seen to work;
    Alarm (major), Critical (urgent) and UNKNOWN (absent or not started) fail for the chips that will be used. What
    a word means that the documents do not have, the devices decide: it warns where they computed right.

    The chips that will be used are those in ASCEND_RT_VISIBLE_DEVICES, and of these the first --npus. The others
    are only mentioned.

    To repair: npu-smi info -t health -i NPU, and the driver's log (dmesg, /var/log/npu); reset the chip with
    npu-smi set -t reset -i NPU -c CHIP while nobody uses it, restart the machine, or leave the chip out with
    ASCEND_RT_VISIBLE_DEVICES.
    """
    needs_npu(facts)
    if not facts.smi.table:
        raise NotApplicable("npu-smi shows no table of chips")
    used = facts.in_use
    for chip in facts.smi.chips:
        if chip.health == HEALTHS[0]:
            continue
        seen = f"{chip_name(chip)} ({chip.name}): {chip.health}"
        if chip not in used:
            yield note(f"{seen}; it will not be used", where=f"{facts.smi.command} info")
            continue
        say = _weight(facts, chip)
        yield say(
            expected=f"health {HEALTHS[0]}",
            seen=seen,
            fix=f"npu-smi set -t reset -i {chip.npu} -c {chip.chip} while nobody uses it, or leave it out"
            " with ASCEND_RT_VISIBLE_DEVICES",
            where=f"{facts.smi.command} info",
            evidence={"npu": chip.npu, "chip": chip.chip, "health": chip.health},
        )


def _weight(facts: RunnerFacts, chip: Chip) -> Callable[..., Finding]:
    """A documented health says by itself what it weighs; for any other word the devices have to say."""
    if chip.health in HEALTHS:
        return warn if chip.health == HEALTHS[1] else fail
    return warn if facts.computed else unsettled


@check(
    "runner/driver",
    "The driver is installed, running and fits its firmware",
    stage=Stage.RUNNER,
    why="CANN talks to the driver that runs, not to the one that was installed last.",
)
def driver(facts: RunnerFacts) -> Findings:
    """The version in /usr/local/Ascend/driver/version.info must be the one that answers npu-smi; after an upgrade
    without a restart they differ, or npu-smi ends with -8005. `npu-smi info -t board` compares driver and firmware
    (Compatibility: OK or NOK).

    In a container the version file is there only if it was mounted; that it is not is no fault.

    To repair: restart the machine after a driver upgrade; install the firmware that came with the driver.
    """
    needs_npu(facts)
    on_disk, running = facts.driver.version, facts.smi.table.driver if facts.smi.table else ""
    if not on_disk and not running:
        if not facts.host.container and not facts.nodes:
            yield fault(
                facts,
                expected="an NPU driver",
                seen=f"no driver, but an NPU on the PCI bus ({listed(list(facts.host.accelerators), 2)})",
                fix="install the driver and its firmware",
            )
        else:
            yield note("the driver's version is not visible here (its version.info is not mounted)")
    if on_disk and running and on_disk.lower() != running.lower():
        yield fault(
            facts,
            expected=f"the installed driver {on_disk} to be the one that runs",
            seen=f"{running} answers: upgraded without a restart, or another host's file is mounted",
            fix="restart the machine",
            where=facts.driver.path,
        )
    elif -8005 in facts.smi.codes and facts.driver.newer_than_boot:
        yield fault(
            facts,
            expected="a driver that was loaded after it was installed",
            seen=f"driver {on_disk or 'files'} installed after the machine's last start; npu-smi ends with -8005",
            fix="restart the machine",
            where=facts.driver.path,
        )
    yield from _firmware(facts, driver=running or on_disk or "?")
    if on_disk or running:
        yield note(f"driver {running or on_disk}", where=facts.driver.path if on_disk else "")


def _firmware(facts: RunnerFacts, *, driver: str) -> Findings:
    """What `npu-smi info -t board` says of each card's firmware."""
    for npu, board in facts.smi.boards.items():
        if board.whole.get("Compatibility", "OK").upper() == "NOK":
            firmware = board.whole.get("Firmware Version", "unknown")
            yield fault(
                facts,
                expected="driver and firmware that fit each other",
                seen=f"NPU {npu}: Compatibility NOK (firmware {firmware}, driver {driver})",
                fix="install the firmware of the driver's release, then restart the machine",
                where=f"{facts.smi.command} info -t board -i {npu}",
            )


@check(
    "runner/supported",
    "vllm-ascend supports this kind of NPU",
    stage=Stage.RUNNER,
    why="On other kinds the platform's engine does not start.",
)
def supported(facts: RunnerFacts) -> Findings:
    """vllm-ascend runs on the 910B family (A2), 910C (A3), 950 and 310P. The 910A, 910 Pro B and the 310B (200I A2)
    are not supported by it (its FAQ).

    To repair: another machine, or another engine.
    """
    needs_npu(facts)
    kinds = facts.kinds
    if not kinds:
        raise NotApplicable("the kind of NPU is not known")
    if not any(kind.served for kind in kinds):
        yield warn(
            expected="a 910B, 910C, 950 or 310P",
            seen=f"a {kinds[0].name}",
            fix="use another machine; vllm-ascend does not support this kind",
        )


CHECKS = (device_nodes, npu_smi, health, driver, supported)
