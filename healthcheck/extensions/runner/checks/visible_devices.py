"""runner/visible-devices: ASCEND_RT_VISIBLE_DEVICES names existing devices."""

from __future__ import annotations

import itertools

from healthcheck.core.check import Findings, fail, warn
from healthcheck.extensions.runner.declared import npu_check
from healthcheck.extensions.runner.records import RunnerFacts
from healthcheck.text.messages import msg


@npu_check(
    "runner/visible-devices",
    msg("The device selection variables are valid"),
    why=msg("A wrong ASCEND_RT_VISIBLE_DEVICES leaves a process without any device."),
)
def visible_devices(facts: RunnerFacts) -> Findings:
    """ASCEND_RT_VISIBLE_DEVICES lists existing devices in ascending order, each once, from 0. In a container the
    numbers count the mounted cards from 0, whatever their numbers on the host. In another order CANN ends with
    107001. If torch_npu counts as many devices as are listed, and all compute correctly, a fault only warns.
    CUDA_VISIBLE_DEVICES has no effect on an NPU.

    To repair: write it in order, or unset it and let the server take the first devices.

    Example:
    ```sh
    export ASCEND_RT_VISIBLE_DEVICES=1,0
    ```

    Use instead:

    ```sh
    export ASCEND_RT_VISIBLE_DEVICES=0,1
    ```
    """
    set_ = facts.host.variables
    text = set_.get("ASCEND_RT_VISIBLE_DEVICES")
    if text is not None:
        wrong = _wrong(facts, text)
        if wrong:
            named = len(facts.visible or ()) or facts.torch.count
            say = warn if facts.computed and facts.torch.count == named else fail
            expected = msg("device numbers from 0, ascending, of devices that exist")
            seen = msg(
                "ASCEND_RT_VISIBLE_DEVICES={value}: {wrong}", value=repr(text[:80]), wrong=wrong
            )
            fix = msg("unset ASCEND_RT_VISIBLE_DEVICES, or write it in ascending order, as 0,1,2,3")
            yield say(expected=expected, seen=seen, fix=fix)
    if "CUDA_VISIBLE_DEVICES" in set_:
        seen = msg("CUDA_VISIBLE_DEVICES is set, and has no effect here")
        fix = msg("unset it; ASCEND_RT_VISIBLE_DEVICES selects NPUs")
        yield warn(expected="ASCEND_RT_VISIBLE_DEVICES", seen=seen, fix=fix)


def _wrong(facts: RunnerFacts, text: str) -> str:
    numbers = facts.visible
    if not text.strip():
        return msg("it is empty, which should hide every device")
    if numbers is None:
        return msg("not a list of numbers")
    if any(after <= before for before, after in itertools.pairwise(numbers)):
        return msg("not in ascending order")
    there = len(facts.smi.chips)
    beyond = [number for number in numbers if there and number >= there]
    return (
        msg("there are {there} devices, so no {beyond}", there=there, beyond=beyond[0])
        if beyond
        else ""
    )
