"""runner/npu-smi: npu-smi shows the chips that are wanted."""

from __future__ import annotations

from healthcheck.check import Findings, check, note, unsettled, warn
from healthcheck.records import Finding, Stage
from healthcheck.runner.records import RunnerFacts
from healthcheck.runner.wording import chip_name, fault, listed, needs_npu, npus

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
        "npu-smi may not query the board from this container, which says nothing about the NPU itself",
        "nothing needs repair if runner/compute passes; for npu-smi, mount /usr/local/dcmi and the npu-smi binary",
    ),
}


@check(
    "runner/npu-smi",
    "npu-smi shows the NPUs",
    stage=Stage.RUNNER,
    why="vllm-ascend and this kit read from npu-smi which chips exist, their health, and who uses them.",
)
def npu_smi(facts: RunnerFacts) -> Findings:
    """`npu-smi info` should exit with 0 and print a table with every chip.

    The exit status is not enough: the driver's library also prints errors. -8005: the library could not start (the
    card is busy, the user lacks permission, or the driver was upgraded without a restart). -8020: another
    unprivileged container holds the card. -9005: npu-smi may not query the board from this container; torch_npu may
    still work, so this only warns.

    If every device computed correctly (runner/compute), all of these only warn.

    To repair: follow the message; in a container also mount npu-smi and /usr/local/dcmi.

    Example:
    ```console
    $ npu-smi info
    dcmi module initialize failed. ret is -8005
    ```

    Use instead:

    ```console
    $ npu-smi info | grep 910B3
    | 0     910B3               | OK            | 93.1        41                0    / 0             |
    ```
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
    """Evidence that npu-smi's table is incomplete, "" if there is none."""
    smi, count = facts.smi, facts.torch.count or 0
    if smi.table is None:
        return ""
    if smi.table.cut:
        return "the table was cut in the middle of a chip"
    if len(smi.mapping) > len(smi.chips):
        return f"`npu-smi info -m` lists {len(smi.mapping)}"
    return f"torch_npu counts {count}" if count > len(smi.chips) else ""


def _specific(facts: RunnerFacts, code: int) -> str:
    """The repair of a code that has several causes, if the machine shows which one it is."""
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
