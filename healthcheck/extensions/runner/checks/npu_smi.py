"""runner/npu-smi: npu-smi shows the wanted chips."""

from __future__ import annotations

from dataclasses import replace

from healthcheck.core.check import Findings, note, unsettled, warn
from healthcheck.core.records import Finding
from healthcheck.extensions.runner.declared import npu_check
from healthcheck.extensions.runner.records import RunnerFacts
from healthcheck.extensions.runner.wording import chip_name, listed, npus, opening
from healthcheck.machine.npu_smi import Table
from healthcheck.text.messages import msg

_CAUSES = {
    -8005: msg(
        "the driver's library could not start (card busy, user not permitted, or driver upgraded, not restarted)"
    ),
    -8020: msg(
        "the card is held by another container (a container without --privileged has its cards for itself)"
    ),
    -9005: msg(
        "npu-smi may not query the board from this container, which says nothing about the NPU itself"
    ),
}
_REPAIRS = {
    -8005: msg(
        "run as root or in group HwHiAiUser; in a container add the device flags; after a driver upgrade restart"
    ),
    -8020: msg("stop the other container (docker ps), or start both with --privileged"),
    -9005: msg(
        "nothing needs repair if runner/compute passes; for npu-smi, mount /usr/local/dcmi and the npu-smi binary"
    ),
}


@npu_check(
    "runner/npu-smi",
    msg("npu-smi shows the NPUs"),
    why=msg(
        "vllm-ascend and this kit read from npu-smi which chips exist, their health, and who uses them."
    ),
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
    for finding in (*_errors(facts), *_table(facts)):
        yield replace(finding, where=f"{facts.smi.command} info")


def _errors(facts: RunnerFacts) -> Findings:
    """One finding per code of the driver's library in npu-smi's output."""
    for code in facts.smi.codes:
        say = warn if code == -9005 else facts.fault
        cause = _CAUSES.get(code, msg("the driver's library reports an error"))
        fix = _specific(facts, code) or _REPAIRS.get(code, msg("look the code up in the DCMI API"))
        yield say(
            expected=msg("npu-smi without errors"),
            seen=msg("ret is {code}: {cause}", code=code, cause=cause),
            fix=fix,
        )


def _specific(facts: RunnerFacts, code: int) -> str:
    """The repair of a code with several causes, if the machine shows which one applies."""
    if code != -8005:
        return ""
    if facts.driver.newer_than_boot:
        return msg("restart the machine: its driver was installed after its last start")
    closed = next((node for node in facts.nodes if node.closed), None)
    return opening(closed) if closed else ""


def _table(facts: RunnerFacts) -> Findings:
    smi, count = facts.smi, len(facts.smi.chips)
    if smi.table is None:
        if not smi.codes:
            yield _no_table(facts)
        return
    if smi.output.status:
        seen = msg("{status}, beside a table of chips", status=smi.output.status)
        yield warn(
            expected=msg("exit status 0"),
            seen=seen,
            fix=msg("run it by hand and read its last lines"),
        )
    if facts.wanted.npus and count < facts.wanted.npus:
        seen = msg("{chips}: {map}", chips=count, map=listed(list(map(chip_name, smi.chips))))
        fix = msg("give the container or the machine the cards that are missing, or ask for fewer")
        yield facts.fault(
            expected=msg("{npus}, as --npus says", npus=npus(facts.wanted.npus)), seen=seen, fix=fix
        )
    if lacking := _lacking(facts, smi.table):
        seen = msg(
            "{chips} chips, but {lacking}: the health of the others is not known",
            chips=count,
            lacking=lacking,
        )
        fix = msg("run npu-smi info by hand, as root too")
        yield warn(expected=msg("a row for every chip"), seen=seen, fix=fix)
    tool = smi.table.tool or msg("of unknown version")
    yield note(
        msg("{chips} × {name}, npu-smi {tool}", chips=count, name=smi.chips[0].name, tool=tool)
    )


def _lacking(facts: RunnerFacts, table: Table) -> str:
    """Evidence that npu-smi's table is incomplete, "" if there is none."""
    listed_by_m, counted = len(facts.smi.mapping), facts.torch.count or 0
    if table.cut:
        return msg("the table was cut in the middle of a chip")
    if listed_by_m > len(table.chips):
        return msg("`npu-smi info -m` lists {mapping}", mapping=listed_by_m)
    return msg("torch_npu counts {count}", count=counted) if counted > len(table.chips) else ""


def _no_table(facts: RunnerFacts) -> Finding:
    output, container = facts.smi.output, facts.host.container
    if output.missing:
        mount, install = (
            msg("mount npu-smi and /usr/local/dcmi into the container"),
            msg("install the driver"),
        )
        fix = mount if container else install
        return facts.fault(expected="npu-smi", seen=msg("it is not installed here"), fix=fix)
    if output.trouble or output.status:
        seen = output.trouble or msg(
            "exit status {status}: {complaint}", status=output.status, complaint=facts.smi.complaint
        )
        return facts.fault(
            expected=msg("a table of chips"), seen=seen, fix=msg("run it by hand, as root too")
        )
    say, expected = (
        warn if facts.computed else unsettled,
        msg("a table of chips in a layout that this kit knows"),
    )
    fix = msg("report it with the output of npu-smi info; meanwhile trust runner/compute")
    return say(expected=expected, seen=facts.smi.complaint, fix=fix)
