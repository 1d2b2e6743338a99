"""runner/driver: the driver is there, and fits its firmware."""

from __future__ import annotations

import functools
import re

from healthcheck.core.check import Findings, note, warn
from healthcheck.extensions.runner.declared import npu_check
from healthcheck.extensions.runner.records import RunnerFacts
from healthcheck.extensions.runner.wording import listed
from healthcheck.text.messages import msg

TOO_OLD = {"9.1": (25, 0), "9.0": (24, 1), "8.5": (24, 1)}
"""The newest drivers (Ascend HDK) that a CANN does not support. Source: release notes of CANN 9.1.0 and 8.5.0."""


@npu_check(
    "runner/driver",
    msg("The driver is installed, running and fits its firmware"),
    why=msg("CANN talks to the loaded driver, which may be older than the installed one."),
)
def driver(facts: RunnerFacts) -> Findings:
    """The version in /usr/local/Ascend/driver/version.info must be the one that npu-smi reports. After an upgrade
    without a restart they differ, or npu-smi ends with -8005. `npu-smi info -t board` compares driver and firmware
    (Compatibility: OK or NOK). A driver older than CANN supports is a warning: the host has the driver, and the
    image has CANN (9.1 needs 25.2 or newer, 9.0 and 8.5 need 25.0).

    A container has the version file only if it was mounted; a missing file is not a fault.

    To repair: restart the machine after a driver upgrade; install the firmware that came with the driver.

    Example:
    ```console
    $ npu-smi info -t board -i 3
            Software Version               : 25.5.1
            Firmware Version               : 7.8.0.6.201
            Compatibility                  : NOK
    ```

    Use instead:

    ```console
    $ npu-smi info -t board -i 3
            Software Version               : 25.5.1
            Firmware Version               : 7.8.0.6.201
            Compatibility                  : OK
    ```
    """
    on_disk, running = facts.driver.version, facts.smi.table.driver if facts.smi.table else ""
    if not on_disk and not running:
        if not facts.host.container and not facts.nodes:
            accelerators = listed(list(facts.host.accelerators), 2)
            seen = msg(
                "no driver, but an NPU on the PCI bus ({accelerators})", accelerators=accelerators
            )
            fix = msg("install the driver and its firmware")
            yield facts.fault(expected=msg("an NPU driver"), seen=seen, fix=fix)
        else:
            yield note(
                msg("the driver's version is not visible here (its version.info is not mounted)")
            )
    older = functools.partial(facts.fault, fix=msg("restart the machine"), where=facts.driver.path)
    if on_disk and running and on_disk.lower() != running.lower():
        expected = msg("the installed driver {on_disk} to be the one that runs", on_disk=on_disk)
        seen = msg(
            "{running} answers: upgraded without a restart, or another host's file is mounted",
            running=running,
        )
        yield older(expected=expected, seen=seen)
    elif -8005 in facts.smi.codes and facts.driver.newer_than_boot:
        files = on_disk or "files"
        seen = msg(
            "driver {on_disk} installed after the machine's last start; npu-smi ends with -8005",
            on_disk=files,
        )
        yield older(expected=msg("a driver that was loaded after it was installed"), seen=seen)
    yield from _firmware(facts, driver=running or on_disk or "?")
    yield from _against_cann(facts, driver=running or on_disk)
    if on_disk or running:
        yield note(
            msg("driver {running}", running=running or on_disk),
            where=facts.driver.path if on_disk else "",
        )


def _against_cann(facts: RunnerFacts, *, driver: str) -> Findings:
    cann = facts.cann.version or facts.row.cann or ""
    too_old = TOO_OLD.get(".".join(cann.split(".")[:2]))
    numbers = re.match(r"(\d{1,4})\.(\d{1,4})", driver)
    if too_old and numbers and (int(numbers[1]), int(numbers[2])) <= too_old:
        oldest = ".".join(map(str, too_old))
        expected = msg("a driver newer than {oldest}, for CANN {cann}", oldest=oldest, cann=cann)
        seen = msg("driver {driver}, which this CANN does not support", driver=driver)
        fix = msg(
            "upgrade the host's driver and firmware, or take the image of an older vllm-ascend"
        )
        yield warn(expected=expected, seen=seen, fix=fix, where=facts.driver.path)


def _firmware(facts: RunnerFacts, *, driver: str) -> Findings:
    """The findings for each card's firmware, from `npu-smi info -t board`."""
    expected = msg("driver and firmware that fit each other")
    fix = msg("install the firmware of the driver's release, then restart the machine")
    for npu, board in facts.smi.boards.items():
        if board.whole.get("Compatibility", "OK").upper() == "NOK":
            seen = msg(
                "NPU {npu}: Compatibility NOK (firmware {firmware}, driver {driver})",
                npu=npu,
                firmware=board.whole.get("Firmware Version", msg("unknown")),
                driver=driver,
            )
            where = f"{facts.smi.command} info -t board -i {npu}"
            yield facts.fault(expected=expected, seen=seen, fix=fix, where=where)
