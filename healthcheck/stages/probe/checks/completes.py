"""probe/completes: every request of the probe gets an answer."""

from __future__ import annotations

from healthcheck import contract
from healthcheck.core.check import Findings, fail, unsettled, warn
from healthcheck.stages.probe.records import EndedBy, ProbeRun, check
from healthcheck.stages.probe.results.answers import counted
from healthcheck.text.messages import message, msg


@check(
    "probe/completes",
    msg("Every request of the probe is answered"),
    why=msg(
        "The evaluation client scores a failed request as a wrong answer, and does not report the failure."
    ),
    rule=contract.CHAT_STREAMING,
)
def completes(run: ProbeRun) -> Findings:
    """The probe streams its problems from {chat_path}, many concurrently, as the service does.

    Expected: an answer to each request. The probe retries after a refused or broken connection, HTTP 429 and 5xx.
    Requests that still fail count as wrong in the accuracy, and fail this check. The evaluation client does not
    retry after an HTTP status other than 200, so a request that needed a retry warns.

    Repair: read the server's log at the time of the failure. Common causes: the engine died (out of memory), a
    proxy refuses or cuts streams, or the context length is too short for prompt and max_tokens (HTTP 400).

    Example:
    A proxy before the server ends each stream that is silent for a minute:

    ```nginx nginx.conf
    location /v1/ {
        proxy_pass http://127.0.0.1:8001;
        proxy_read_timeout 60s;
    }
    ```

    Use instead:

    ```nginx nginx.conf
    location /v1/ {
        proxy_pass http://127.0.0.1:8001;
        proxy_read_timeout 1h;
        proxy_buffering off;
    }
    ```
    """
    failed = run.failed
    if failed:
        expected = msg("an answer to each of {samples} requests", samples=len(run.samples))
        seen = msg(
            "{failed} failed: {reasons}",
            failed=len(failed),
            reasons=counted(sample.error for sample in failed),
        )
        fix = msg(
            "find the failure in the server's log; the first failed request is in logs/samples.jsonl"
        )
        yield fail(expected=expected, seen=seen, fix=fix)
    told = run.ended_by in {EndedBy.EVIDENCE, EndedBy.CUT} or (
        failed and run.ended_by is EndedBy.FAILURES
    )
    if run.stopped and not told:
        expected = msg("{planned} samples", planned=run.planned)
        seen = msg(
            "{samples} were taken: {stopped}",
            samples=len(run.samples),
            stopped=message(run.stopped),
        )
        yield unsettled(
            expected=expected, seen=seen, fix=msg("while the server runs: {again}", again=run.again)
        )
    retried = [sample for sample in run.samples if sample.retried and not sample.error]
    if retried:
        expected = msg("an answer to the first try")
        seen = msg(
            "{retried} of {samples} requests needed more than one: {counted}",
            retried=len(retried),
            samples=len(run.samples),
            counted=counted(error for sample in retried for error in sample.retried),
        )
        fix = msg(
            "let the server queue requests rather than refuse them; the evaluation client does not retry"
        )
        yield warn(expected=expected, seen=seen, fix=fix)
    faulty = [sample for sample in run.samples if sample.faults]
    if faulty:
        expected = msg("streams that the evaluation client reads without loss")
        seen = msg(
            "{faulty} of {samples} streams: {counted}",
            faulty=len(faulty),
            samples=len(run.samples),
            counted=counted(fault for sample in faulty for fault in sample.faults),
        )
        yield warn(
            expected=expected,
            seen=seen,
            fix=msg("see endpoint/stream-framing and endpoint/stream-finish"),
        )
