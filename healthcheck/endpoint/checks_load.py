"""Does the server stay right with many clients, after one that went away, and after a request that is none?"""

from __future__ import annotations

from healthcheck import contract
from healthcheck.check import Findings, NotApplicable, check, fail, note, warn
from healthcheck.endpoint.crowd import changed_answers, crowd_talk
from healthcheck.endpoint.records import Interview, answered, said, texts
from healthcheck.endpoint.wording import asked, shown, what_came
from healthcheck.records import Stage
from healthcheck.wire.client import Exchange


@check(
    "endpoint/concurrency",
    "Parallel streams are all served, each with its own text",
    stage=Stage.ENDPOINT,
    why="The client sends requests side by side, and none again after a status other than 200.",
    rule=contract.CHAT_STREAMING,
    requires=("endpoint/stream-finish",),
)
def concurrency(interview: Interview) -> Findings:
    """Sixteen streams at once, each told a code word of its own, must all be answered, and none may say another's
    word or give another prompt's answer. Waiting is fine: the client has no time-out. A refusal is not: it counts
    429 and 503 as final.

    Repair: queue requests instead of refusing them; give each its turn; keep the state of each request apart from
    the others'.
    Simulated by: npu-adapter simulate --fault cross-talk (busy, hangs-in-a-crowd)
    """
    crowd = interview.crowd
    if crowd is None:
        raise NotApplicable("no parallel streams were tried")
    streams = [exchange for exchanges in crowd.rounds for exchange in exchanges]
    lost = [exchange for exchange in streams if not answered(exchange)]
    if lost:
        yield fail(
            expected=f"{len(crowd.words)} streams at once, all answered",
            seen=f"{len(lost)} of {len(streams)} were not: {what_came(lost[0])}",
            fix="look for a lock, a pool or a slot that is never given back: each request must have its turn"
            if lost[0].error
            else "queue requests instead of refusing them: the evaluation client does not ask again",
            where=asked(lost[0]),
        )
    signs = crowd_talk(crowd)
    if signs:
        yield fail(
            expected="each stream with the answer to its own prompt",
            seen=f"{signs[0]}; {len(signs)} such signs",
            fix="keep the state of each request apart: a shared streamer or buffer mixes them",
            where=asked(streams[0]),
        )
    elif not lost and (changed := changed_answers(crowd)):
        yield warn(
            expected="the same answers when the same sixteen prompts come again, at temperature 0",
            seen=f"{len(changed)} of {len(crowd.words)} said their word once only: {', '.join(changed[:3])}",
            fix="look for state that requests share; ask the same prompts one at a time and compare",
            where=asked(streams[0]),
            evidence={"changed_answers": len(changed), "repeats": len(crowd.words)},
        )


@check(
    "endpoint/disconnect",
    "The server is right after a client went away",
    stage=Stage.ENDPOINT,
    why="A job that is stopped, or a time-out, leaves streams behind; the next ones must not suffer.",
    rule=contract.CHAT_STREAMING,
    requires=("endpoint/stream-finish",),
)
def disconnect(interview: Interview) -> Findings:
    """Eight streams are left after their first piece of text. The next request must be answered as before.

    Repair: end the generation when its client is gone, and give its slot back.
    Simulated by: npu-adapter simulate --fault stuck-after-disconnect
    """
    if interview.after_abandoned is None:
        raise NotApplicable("no stream was left")
    yield from _still_right(
        interview,
        interview.after_abandoned,
        after="eight streams were left",
        fix="end the generation when its client is gone, and give its slot back",
    )


@check(
    "endpoint/bad-request",
    "The server is right after a malformed request",
    stage=Stage.ENDPOINT,
    why="One malformed request, from anybody, must not end the service for the job.",
    rule=contract.CHAT_STREAMING,
    requires=("endpoint/disconnect",),
)
def bad_request(interview: Interview) -> Findings:
    """Broken JSON, a body without messages, messages of the wrong kind: each must be answered, best with 400 or
    422, and the next good request must be answered as before. A status of 500 is a warning: the service sends no
    such request, but a server that takes them for its own fault has not looked at its input.

    Repair: check the body before it reaches the model.
    Simulated by: npu-adapter simulate --fault stuck-after-bad-request (bad-request-500)
    """
    if interview.after_malformed is None:
        raise NotApplicable("no malformed request was sent")
    fix = "check the body before it reaches the model, and answer 400"
    wrong = 0
    for finding in _still_right(interview, interview.after_malformed, after="malformed requests", fix=fix):
        wrong += 1
        yield finding
    unanswered = [exchange for exchange in interview.malformed if not 200 <= exchange.status < 500]
    if unanswered and not wrong:
        yield warn(
            expected="status 400 or 422 for a malformed request",
            seen=f"{len(unanswered)} of {len(interview.malformed)}: {what_came(unanswered[0])}",
            fix=fix,
        )


def _still_right(interview: Interview, exchange: Exchange, *, after: str, fix: str) -> Findings:
    if not answered(exchange) or _lost_text(interview, exchange):
        yield fail(
            expected=f"after {after}: an answer as before",
            seen=what_came(exchange),
            fix=fix,
            where=asked(exchange),
        )
    elif interview.steady and texts(exchange) != texts(interview.streams[0]):
        yield note(f"after {after}, another answer at temperature 0: {shown(said(exchange), 80)}")


def _lost_text(interview: Interview, exchange: Exchange) -> bool:
    """Whether an answer lost the text that the same request had before."""
    return interview.steady and any(texts(interview.streams[0])) and not any(texts(exchange))
