"""runner/ecc: the memory of the chips has no uncorrected errors."""

from __future__ import annotations

from healthcheck.core.check import Findings, NotApplicable, note, warn
from healthcheck.extensions.runner.declared import npu_check
from healthcheck.extensions.runner.records import RunnerFacts
from healthcheck.text.messages import joined, msg


@npu_check(
    "runner/ecc",
    msg("The memory of the chips has no uncorrected errors"),
    why=msg("A bit that the memory could not correct ends a server, or changes its answers."),
)
def ecc(facts: RunnerFacts) -> Findings:
    """Reads `npu-smi info -t ecc`. Errors of several bits (Double Bit) warn: those of now, those of the chip's
    whole life, pages that were taken out of use, and pages that wait for it. Corrected errors (Single Bit) are
    mentioned. The documentation names no number at which a chip must be replaced, so nothing fails here.

    To repair: pages that wait (Next-Isolated) are taken out when the chip is reset or the machine restarted:
    npu-smi set -t reset -i NPU -c CHIP while nobody uses it. If the number grows from run to run (--baseline), have
    the card replaced.

    Example:
    ```console
    $ npu-smi info -t ecc -i 0
            HBM Double Bit Error Count               : 2
            Chip ID                                  : 0
    ```

    Use instead:

    ```console
    $ npu-smi info -t ecc -i 0
            HBM Double Bit Error Count               : 0
            Chip ID                                  : 0
    ```
    """
    if not facts.ecc:
        raise NotApplicable(msg("npu-smi prints no counters of errors here"))
    corrected = 0
    for each in facts.ecc:
        lasting = {
            name: count for name, count in each.counts.items() if count and "double" in name.lower()
        }
        corrected += sum(count for name, count in each.counts.items() if "single" in name.lower())
        if lasting:
            counts = (msg("{name} {n}", name=name, n=count) for name, count in lasting.items())
            seen = msg(
                "NPU {npu} chip {chip}: {value}",
                npu=each.npu,
                chip=each.chip,
                value=joined(", ", counts),
            )
            fix = msg(
                "npu-smi set -t reset -i {npu} -c {chip} while nobody uses it; if it grows, replace the card",
                npu=each.npu,
                chip=each.chip,
            )
            expected, where = (
                msg("no error of several bits"),
                f"{facts.smi.command} info -t ecc -i {each.npu}",
            )
            yield warn(expected=expected, seen=seen, fix=fix, where=where)
    yield note(
        msg(
            "counters of {ecc} chips, {corrected} corrected errors",
            ecc=len(facts.ecc),
            corrected=corrected,
        )
    )
