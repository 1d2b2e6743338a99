"""probe/replicas: no server is worse than the others, and each answers until the end."""

from __future__ import annotations

from healthcheck.core.check import Findings, NotApplicable, check, fail, note, warn
from healthcheck.core.records import Stage
from healthcheck.stages.probe.records import ProbeRun
from healthcheck.stages.probe.results.by_server import ERROR, Share, shares
from healthcheck.stages.probe.run.server import differences
from healthcheck.text.messages import joined, msg

SURE = 0.1
"""A difference is a failure below this part of the allowed error, else a warning."""
LOOK = msg(
    "take it out and probe again without it; on its machine compare weights, image, options and environment with "
    "the others', and run npu-adapter runner there and npu-adapter numerics with its URL"
)


@check(
    "probe/replicas",
    "Of several servers, none is worse than the others",
    stage=Stage.PROBE,
    why="The samples of all servers make one accuracy, in which one bad machine may stay unnoticed.",
    requires=("endpoint/stream",),
)
def replicas(run: ProbeRun) -> Findings:
    """The samples of a run may be spread over several servers (npu-adapter probe URL URL …). This check compares
    the share of right answers of each server with that of the others on the same problems. Problems with one sample
    each are compared tier by tier. A server is worse if servers that are alike would differ so much in at most 1 of
    100 runs, for all servers together: a warning. In at most 1 of 1000 runs: a failure. The report says which loss
    the samples can show. Failed requests are left out here: probe/completes counts them.

    A server that was taken out of the run warns: four tries in a row failed, or no byte came from it within
    silence_timeout_s. The other servers answered its requests. Servers warn, too, that say different versions of
    the engine, or list the model with another path or context length.

    Repair: take the server out. On its machine compare the weights, the image, the options and the environment with
    those of the others. npu-adapter runner looks at the NPUs, npu-adapter numerics at what the server computes.

    Example:
    One of two machines still serves an earlier export of the weights:

    ```sh deploy.sh
    exec vllm serve /data/export-1 --served-model-name m --port {port}   # on the second machine alone
    ```

    Use instead:

    ```sh deploy.sh
    exec vllm serve /data/export-2 --served-model-name m --port {port}   # the same on both
    ```
    """
    different, counts = differences(run.server), {share.server: share for share in shares(run)}
    if len(counts) < 2 and not run.lost and not different:
        raise NotApplicable(msg("one server gave all answers"))
    for difference in different:
        expected = msg("servers of one deployment")
        fix = msg("start the same image with the same options and weights on each machine")
        yield warn(expected=expected, seen=msg("they differ in their {difference}", difference), fix=fix)
    for lost in run.lost:
        share = counts.get(lost.url)
        told = (lost.url, share.samples if share else 0, lost.why)
        seen = msg("{url} was taken out of the run after {samples} answers: {why}", *told)
        fix = msg("read its log at that time; continue with --resume, or measure again, once it answers")
        yield warn(expected=msg("servers that answer to the end"), seen=seen, fix=fix)
    yield note(msg("right answers by server: ") + joined("; ", map(_told, counts.values())))
    for share in counts.values():
        yield from _worse(share, ERROR / len(counts))
    if reach := [share.detectable for share in counts.values() if share.detectable]:
        most = 100 * max(reach)
        said = msg("a server that is worse by {reach:.1f} points is found in at least four of five such runs", most)
        yield note(said)


def _worse(share: Share, error: float) -> Findings:
    if share.p > error:
        return
    found = fail if share.p <= SURE * error else warn
    theirs = msg("{others_right:.1f} % of {others}", 100 * share.others_right / share.others, share.others)
    expected = msg("servers that answer the same problems equally well")
    told = (share.server, 100 * share.right / share.samples, share.samples, theirs, share.p)
    seen = msg(
        "{server} is worse than the others: {right:.1f} % of {samples} samples right, theirs "
        "{theirs}; servers that are alike differ so much with a probability of {p:.1g}",
        *told,
    )
    yield found(expected=expected, seen=seen, fix=LOOK)


def _told(share: Share) -> str:
    return (
        f"{share.server} {100 * share.right / share.samples:.1f} % of {share.samples} "
        f"({100 * share.low:.1f} to {100 * share.high:.1f})"
    )
