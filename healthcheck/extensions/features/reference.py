"""The requests of the rate in two runs: an earlier report is the reference for this one."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path

from healthcheck.core.check import Findings, note, warn
from healthcheck.core.records import JsonValue
from healthcheck.errors import UsageError
from healthcheck.extensions.features.judgement import called, wrong_calls
from healthcheck.extensions.features.records import Trial
from healthcheck.extensions.features.schema import at, list_at
from healthcheck.stages.probe.statistics.changes import signs_by_problem
from healthcheck.system import json_text
from healthcheck.system.files import read_text
from healthcheck.system.json_text import JsonError
from healthcheck.text.messages import msg

KEPT = "right tool calls"
"""The figure of a report that a later run is compared with."""
LEAST_P, _MOST_BYTES = 0.01, 2**26


def kept(trials: Sequence[Trial]) -> dict[str, JsonValue]:
    """Whether each answer was right, and of which requests."""
    return {"requests": _digest(trials), "right": [_right(trial) for trial in trials]}


def joined_to(path: Path, trials: Sequence[Trial]) -> list[Trial]:
    """The trials, each with whether the answer of the earlier report was right.

    Raises:
        UsageError: the file is not a report about these requests.
    """
    try:
        earlier = at(json_text.load(read_text(path, _MOST_BYTES)), "metrics", KEPT)
    except JsonError as error:
        raise UsageError(msg("{path} is not a report: {error}", path=path, error=error)) from error
    rights = list_at(earlier, "right")
    if at(earlier, "requests") != _digest(trials) or len(rights) != len(trials):
        raise UsageError(
            msg(
                "{path} has no answers to these requests: make it with `npu-adapter features URL --json FILE`, "
                "and the "
                "same --requests and --n",
                path=path,
            )
        )
    return [
        trial._replace(before=right if isinstance(right, bool) else None)
        for trial, right in zip(trials, rights, strict=True)
    ]


def compared(trials: Iterable[Trial]) -> Findings:
    """What differs from the reference, if there is one."""
    pairs = [
        (trial.before, now)
        for trial in trials
        if trial.before is not None and (now := _right(trial)) is not None
    ]
    if not pairs:
        return
    earlier, here = ([(1, int(right)) for right in run] for run in zip(*pairs, strict=True))
    p = signs_by_problem(earlier, here).worse_p
    lost, won = (sum(pair == wanted for pair in pairs) for wanted in ((True, False), (False, True)))
    seen = msg(
        "of {n} requests, {lost} right in the reference alone, {won} here alone (one-sided p {p:.2g})",
        n=len(pairs),
        lost=lost,
        won=won,
        p=p,
    )
    expected = msg("no fewer right answers than in the reference")
    fix = msg("compare the options, the release and the chat template of both servers")
    yield warn(expected=expected, seen=seen, fix=fix) if p < LEAST_P else note(seen)


def _right(trial: Trial) -> bool | None:
    """Whether an answer calls where it is right to, and its calls fit; None for a lost one."""
    if trial.answer.said:
        return None
    apt = trial.calls is None or called(trial) is trial.calls
    return apt and not (called(trial) and wrong_calls(trial.answer, trial.body))


def _digest(trials: Sequence[Trial]) -> str:
    return hashlib.sha256(
        b"\n".join(json_text.dump_line(trial.body) for trial in trials)
    ).hexdigest()[:16]
