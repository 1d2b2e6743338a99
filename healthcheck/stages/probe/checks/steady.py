"""probe/steady: the last answers of a run are as good and as quick as the first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from statistics import median

from healthcheck.core.check import Findings, NotApplicable, warn
from healthcheck.core.records import Finding
from healthcheck.stages.probe.records import FEW_PROBLEMS, ProbeRun, check
from healthcheck.stages.probe.results import figures
from healthcheck.stages.probe.results.chance import judged
from healthcheck.stages.probe.statistics.changes import loss_p
from healthcheck.text.messages import msg

_TIMES_LATER, _LATER_S = 2, 1.0
_FEWEST_ROUNDS = 3
"""Medians of so many rounds after the first come in rising order by chance once in six runs."""


@check(
    "probe/steady",
    msg("The last answers are as good and as quick as the first"),
    why=msg(
        "The service asks for hours; what a server loses in minutes, it loses there many times over."
    ),
)
def steady(run: ProbeRun) -> Findings:
    """The probe asks each problem once, then each once more, and so on. With a healthy server the answers of the
    first round and of the last are equally often right. The check compares them by problem, with an exact sign test
    against a loss: at 1 % or less it warns, at 0.1 % or less it fails. It also warns if the first text of the
    answers comes later in each round after the first, at the end after twice the time and a second more; where two
    rounds are sent at once, it does not look at that, since they wait for each other. It needs 30 problems and no
    reference.

    Repair: restart the server and run the probe again with more samples; then look for what fills or grows in a
    run: a cache, a log, memory of the host or of the device, a queue that never empties.

    Example:
    ```text right answers in each round of 120 problems
    101   99   103   64   12
    ```

    Use instead:

    ```text right answers in each round of 120 problems
    101   99   103   98   100
    ```
    """
    rows = figures.grid(run).rows
    if len(rows) < FEW_PROBLEMS or len(rows[0]) < 2:
        raise NotApplicable(msg("too few problems, or one round alone"))
    yield from _worse(run, rows)
    if run.settings.concurrency < 2 * len(rows):
        yield from _later(run, rows)


def _worse(run: ProbeRun, rows: Sequence[Sequence[int]]) -> Iterator[Finding]:
    first, last = ([run.grades[row[place]].correct for row in rows] for place in (0, -1))
    p_value = loss_p([(1, right) for right in first], [(1, right) for right in last])
    seen = msg(
        "{first} of {rows} were right in the first round, {last} in the last",
        first=sum(first),
        rows=len(rows),
        last=sum(last),
    )
    fix = msg(
        "restart the server and ask again; then look for what fills or grows: a cache, memory, a queue"
    )
    expected = msg("as many right answers in the last round as in the first")
    yield judged(p_value, expected=expected, seen=seen, fix=fix)


def _later(run: ProbeRun, rows: Sequence[Sequence[int]]) -> Iterator[Finding]:
    """Later and later first texts. The first round is not compared: the server warms up in it."""
    waits_s = [
        median(run.samples[place].first_s for place in places)
        for places in list(zip(*rows, strict=True))[1:]
    ]
    rising = len(waits_s) >= _FEWEST_ROUNDS and all(one < other for one, other in pairwise(waits_s))
    if rising and waits_s[-1] > max(_TIMES_LATER * waits_s[0], waits_s[0] + _LATER_S):
        expected = msg("first texts as soon at the end as at the beginning")
        seen = msg(
            "after {first:.1f} s in the second round and {last:.1f} s in the last (medians)",
            first=waits_s[0],
            last=waits_s[-1],
        )
        fix = msg(
            "look for what grows with each request: a history, a list, a log; the client's run is longer"
        )
        yield warn(expected=expected, seen=seen, fix=fix)
