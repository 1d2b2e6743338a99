"""service/stays-up: the server that became ready keeps serving."""

from __future__ import annotations

from healthcheck import contract
from healthcheck.core.check import At, Findings, NotApplicable, check, unsettled
from healthcheck.stages.service.failures import describe_exit, was_stopped
from healthcheck.stages.service.records import Ended, LaunchOutcome
from healthcheck.stages.service.repairs import repair
from healthcheck.text.messages import joined, msg


@check(
    "service/stays-up",
    msg("The server that became ready keeps serving"),
    why=msg(
        "An evaluation takes hours; answers are lost if the server dies or restarts meanwhile."
    ),
    rule=contract.STARTS_THE_SERVICE,
    requires=("service/starts",),
)
def stays_up(ended: Ended) -> Findings:
    """From the first answer until the end of the probe, the same processes must serve.

    A server that dies under load fails the job. A server that a loop in deploy.sh restarts loses the requests in
    progress, and takes minutes to load. If a signal told the server to stop (SIGTERM, as its log or the exit status
    says), the verdict is inconclusive: who sent it is unknown.

    To repair: read the cause in the log. Most often it is memory (lower --max-model-len, --max-num-seqs or
    --gpu-memory-utilization), or an operator that fails on the first long prompt.

    Example:
    ```sh deploy.sh
    while true; do
        vllm serve "$MODEL_PATH" --port {port} --gpu-memory-utilization 0.98
    done
    ```

    Use instead:

    ```sh deploy.sh
    exec vllm serve "$MODEL_PATH" --port {port} --gpu-memory-utilization 0.9
    ```
    """
    before = ended.stopped.before
    if ended.launch.outcome is not LaunchOutcome.READY:
        raise NotApplicable(msg("the service never became ready"))
    if before.running and not before.gone and before.listeners:
        yield from _left_alone(ended)
        return
    gone = joined("; ", map(str, before.gone[:3]))
    if before.restarted:
        seen = msg("the server died and was started again: ") + gone
    elif not before.running:
        seen = msg(
            "every process of the launch is gone ({exit})", exit=describe_exit(before.exit_status)
        )
    elif before.gone:
        seen = msg("gone: {processes}", processes=gone)
    else:
        seen = msg("no process listens on port {port} now", port=ended.launch.port)
    hit, block = ended.diagnosis.named, ended.diagnosis.block
    name, lines = ended.launch.log.name, hit.lines if hit else block[-8:]
    said = joined(
        "\n",
        (
            msg("  {name}:{number}: {text}", name=name, number=line.number, text=line.text)
            for line in lines
        ),
    )
    log, expected = ended.launch.log, msg("the server that became ready answers until the end")
    fix = repair(hit, ended.launch.setup) if hit else msg("read the end of {log}", log=log)
    judged = unsettled if was_stopped(before.exit_status, ended.diagnosis) else At(str(log)).fail
    yield judged(expected=expected, seen=joined("\n", filter(None, (seen, said))), fix=fix)


def _left_alone(ended: Ended) -> Findings:
    """deploy.sh ended after the first answer, while its server kept running."""
    status = ended.stopped.before.exit_status
    if status is None or ended.launch.exit_status is not None:
        return
    expected = msg("deploy.sh runs as long as the server does")
    said = describe_exit(status)
    seen = msg(
        "deploy.sh ended after the first answer ({exit}), and its server kept running", exit=said
    )
    fix = msg("end deploy.sh in `exec vllm serve …`, without `&`")
    yield At(contract.ENTRY_POINT).fail(expected=expected, seen=seen, fix=fix)
