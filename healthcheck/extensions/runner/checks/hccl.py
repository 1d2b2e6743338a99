"""runner/hccl: an HCCL all-reduce works across the devices."""

from __future__ import annotations

from healthcheck.core.check import Findings, NotApplicable, fail, warn
from healthcheck.extensions.runner.asked import Depth
from healthcheck.extensions.runner.declared import npu_check
from healthcheck.extensions.runner.records import RunnerFacts
from healthcheck.text.messages import msg


@npu_check(
    "runner/hccl",
    msg("An HCCL all-reduce works across the devices"),
    level=Depth.MINUTES,
    why=msg(
        "Tensor parallelism uses HCCL: a broken link or setting shows only when devices communicate."
    ),
)
def hccl(facts: RunnerFacts) -> Findings:
    """With two devices or more, one process per device joins an HCCL group and all-reduces a tensor. Each must get
    the sum within the deadline.

    To repair: HCCL_IF_IP, HCCL_SOCKET_IFNAME and GLOO_SOCKET_IFNAME must name an interface of this machine, or be
    unset; 127.0.0.1 must bypass the proxy; every card of the machine must be mounted; hccn_tool -i N -link -g must
    print UP. Error codes EI… and EJ… in the runtime's log name the cause.

    Example:
    192.0.2.9 is an address of another machine:

    ```sh
    export HCCL_IF_IP=192.0.2.9
    npu-adapter runner
    ```

    Use instead:

    ```sh
    unset HCCL_IF_IP
    npu-adapter runner
    ```
    """
    trial = facts.hccl
    if trial is None:
        raise NotApplicable(facts.stopped or msg("it takes two devices that compute"))
    for rank in trial.wrong:
        seen = msg("device {rank} got another", rank=rank)
        fix = msg("replace or exclude device {rank}, and run it again", rank=rank)
        yield fail(expected=msg("the sum on every device"), seen=seen, fix=fix)
    done = len(trial.right) == trial.world
    say, expected = warn if done else fail, msg("an all-reduce without errors")
    fix = msg(
        "read ~/ascend/log for EI… or EJ…; check HCCL_IF_IP, HCCL_SOCKET_IFNAME and the links"
    )
    for error in trial.errors[:2]:
        yield say(expected=expected, seen=error.text[:400], fix=fix, where=error.at)
    if not done and not trial.wrong and not trial.errors:
        seen = msg("{right} had it; {how}", right=len(trial.right), how=trial.ending)
        fix = msg(
            "hccn_tool -i 0 -link -g for each device; unset HCCL_IF_IP and HCCL_SOCKET_IFNAME and try again"
        )
        yield fail(
            expected=msg("the sum on {world} devices", world=trial.world), seen=seen, fix=fix
        )
