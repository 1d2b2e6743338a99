"""endpoint/bad-request: the server still answers correctly after a malformed request."""

from __future__ import annotations

from healthcheck import contract
from healthcheck.core.check import Findings, NotApplicable, warn
from healthcheck.core.records import Level
from healthcheck.stages.endpoint.answers import response_of
from healthcheck.stages.endpoint.crowd import LINE_AFTER_MALFORMED, still_right
from healthcheck.stages.endpoint.records import Interview, check
from healthcheck.text.messages import msg


@check(
    "endpoint/bad-request",
    msg("The server recovers from a malformed request"),
    why=msg("One malformed request must not end the service for all others."),
    rule=contract.CHAT_STREAMING,
    requires=("endpoint/disconnect",),
)
def bad_request(interview: Interview) -> Findings:
    """The kit sends broken JSON, a body without messages, and messages of the wrong type. Each must be answered,
    best with 400 or 422, and the next correct request must be answered as before.

    A status of 500 warns: the service sends no such requests, but the server does not validate its input. A status
    of 200 for broken JSON warns too: the server answers a request that it cannot have parsed.

    Repair: validate the body before it reaches the model.
    Simulated by: npu-adapter simulate --fault stuck-after-bad-request (bad-request-500,
    answers-broken-json)

    Example:
    The body of the request is `{"model": `, which is not JSON:

    ```http plain answer
    HTTP/1.1 500 Internal Server Error
    Content-Type: text/plain

    Internal Server Error
    ```

    Use instead:

    ```http plain answer
    HTTP/1.1 400 Bad Request
    Content-Type: application/json

    {"error": {"message": "the body is not JSON", "type": "invalid_request_error"}}
    ```
    """
    if interview.after_malformed is None:
        raise NotApplicable(msg("no malformed request was sent"))
    fix = msg("check the body before it reaches the model, and answer 400")
    last = interview.after_malformed
    after = msg("malformed requests")
    findings = tuple(still_right(interview, last, line=LINE_AFTER_MALFORMED, after=after, fix=fix))
    yield from findings
    if any(finding.level is not Level.NOTE for finding in findings):
        return  # the server did not recover; the status of each response matters less
    failed = [exchange for exchange in interview.malformed if not 200 <= exchange.status < 500]
    if failed:
        seen = msg(
            "{failed} of {malformed}: {response}",
            failed=len(failed),
            malformed=len(interview.malformed),
            response=response_of(failed[0]),
        )
        yield warn(expected=msg("status 400 or 422 for a malformed request"), seen=seen, fix=fix)
    broken = interview.malformed[0]
    if broken.status == 200:
        yield warn(
            expected=msg("status 400 for a body that is not JSON"),
            seen=response_of(broken),
            fix=msg("refuse a body that cannot be parsed"),
        )
