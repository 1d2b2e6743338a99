"""runner/busy: no other process uses the chips."""

from __future__ import annotations

from healthcheck.core.check import Findings, NotApplicable, warn
from healthcheck.extensions.runner.declared import npu_check
from healthcheck.extensions.runner.holders import freeing, holder_words
from healthcheck.extensions.runner.records import RunnerFacts
from healthcheck.extensions.runner.wording import chip_name, listed
from healthcheck.machine.npu_smi import holders_on
from healthcheck.text.messages import msg


@npu_check(
    "runner/busy",
    msg("No other process uses the chips"),
    why=msg(
        "A second process on a chip slows the server down, and can take the memory that it needs."
    ),
)
def busy(facts: RunnerFacts) -> Findings:
    """npu-smi lists the processes that hold memory on a chip. Any process on the chips that will be used warns;
    runner/memory judges whether enough memory is free.

    In a container npu-smi may omit names, and cannot see the processes of other containers.

    To repair: end the processes, or choose other chips with ASCEND_RT_VISIBLE_DEVICES.

    Example:
    ```console
    $ npu-smi info | tail -n 2
    | NPU     Chip | Process id | Process name | Process memory(MB) |
    | 0       0 | 77 | python | 55000 |
    ```

    Use instead:

    ```console
    $ npu-smi info | tail -n 2
    | NPU     Chip | Process id | Process name | Process memory(MB) |
    | No running processes found in NPU 0                                                             |
    ```
    """
    if not facts.smi.table:
        raise NotApplicable(msg("npu-smi shows no table of chips"))
    for chip in facts.in_use:
        holders = holders_on(chip, facts.smi.memory_holders)
        if holders:
            seen = msg(
                "{device}: {processes}",
                device=chip_name(chip),
                processes=listed(list(map(holder_words, holders)), 4),
            )
            expected, where = (
                msg("no process on the chips that will be used"),
                f"{facts.smi.command} info",
            )
            yield warn(expected=expected, seen=seen, fix=freeing(facts, chip), where=where)
