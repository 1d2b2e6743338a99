"""runner/busy: nobody else uses the chips."""

from __future__ import annotations

from healthcheck.check import Findings, NotApplicable, check, warn
from healthcheck.records import Stage
from healthcheck.runner.holders import freeing, holder_words, holders_on
from healthcheck.runner.records import RunnerFacts
from healthcheck.runner.wording import chip_name, listed, needs_npu


@check(
    "runner/busy",
    "Nobody else uses the chips",
    stage=Stage.RUNNER,
    why="A second user of a chip slows the server down, and memory that it takes later ends it.",
)
def busy(facts: RunnerFacts) -> Findings:
    """npu-smi lists the processes that have memory on a chip. Any on the chips that will be used warns; whether
    enough is free is runner/memory's question.

    In a container npu-smi may leave the names blank, and cannot see the processes of others.

    To repair: end them, or choose other chips with ASCEND_RT_VISIBLE_DEVICES.
    """
    needs_npu(facts)
    if not facts.smi.table:
        raise NotApplicable("npu-smi shows no table of chips")
    for chip in facts.in_use:
        holders = holders_on(facts, chip.npu, chip.chip)
        if holders:
            yield warn(
                expected="no process on the chips that will be used",
                seen=f"{chip_name(chip)}: {listed([holder_words(holder) for holder in holders], 4)}",
                fix=freeing(facts, chip.npu, chip.chip),
                where=f"{facts.smi.command} info",
            )
