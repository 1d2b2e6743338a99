"""probe/crowd: a problem gets the same answers among many requests as alone."""

from __future__ import annotations

from collections.abc import Sequence

from healthcheck.core.check import Findings, NotApplicable
from healthcheck.stages.probe.records import ProbeRun, check
from healthcheck.stages.probe.results import figures
from healthcheck.stages.probe.results.chance import judged
from healthcheck.stages.probe.statistics.changes import better_alone_p
from healthcheck.text.messages import msg

LEAST = 5


@check(
    "probe/crowd",
    msg("Answers among many requests are as good as alone"),
    why=msg(
        "The evaluation client asks many at once; faults of large batches and shared buffers show only there."
    ),
)
def crowd(run: ProbeRun) -> Findings:
    """After its samples the probe asks up to 20 of the problems once more, one at a time, for at most a quarter of
    the time that the samples took and at most a minute. With a healthy server the answer that came alone could have
    been any of a problem's answers; equal answers, as at temperature 0, count as one, and failed requests do not
    count. The check computes how often so many of those that came alone would be right by that chance, exactly
    where a problem's answers are independent: at 1 % or less it warns, at 0.1 % or less it fails. It needs no
    reference. Fewer than 30 problems, code and one request at a time are not asked again.

    Repair: find the number of requests at which answers become worse, and what changes there: try --max-num-seqs
    below it, --enforce-eager (graphs are captured for given batch sizes), no prefix caching, no speculative
    decoding.

    Example:
    ```sh deploy.sh
    exec vllm serve "$MODEL_PATH" --port {port}    # 64 at once: .49 right; alone: .80
    ```

    Use instead:

    ```sh deploy.sh
    exec vllm serve "$MODEL_PATH" --port {port} --max-num-seqs 32
    ```
    """
    chosen = figures.grid(run)
    rows = dict(zip(chosen.problems, chosen.rows, strict=True))
    alone = [
        (sample, grade)
        for sample, grade in run.alone
        if not sample.error and sample.problem in rows
    ]
    if len(alone) < LEAST:
        raise NotApplicable(msg("no problem was asked alone"))
    pairs = [(*_among_many(run, rows[sample.problem]), grade.correct) for sample, grade in alone]
    pairs = [pair for pair in pairs if pair[0]]
    p_value = better_alone_p(pairs)
    seen = msg(
        "of {alone} problems asked alone {right} were right; among many they are so in {crowd:.0f} %",
        alone=len(pairs),
        right=sum(right for _, _, right in pairs),
        crowd=100 * sum(right / asked for asked, right, _ in pairs) / len(pairs),
    )
    expected = msg(
        "as many right answers among {concurrency} requests at once as alone",
        concurrency=run.settings.concurrency,
    )
    fix = msg("try --max-num-seqs 32 or less, then --enforce-eager, then without prefix caching")
    yield judged(p_value, expected=expected, seen=seen, fix=fix)


def _among_many(run: ProbeRun, row: Sequence[int]) -> tuple[int, int]:
    """The answers of a problem among many requests, and the right ones; copies are one answer."""
    answered = [place for place in row if not run.samples[place].error]
    if len({run.samples[place].text for place in answered}) == 1:
        answered = answered[:1]
    return len(answered), sum(run.grades[place].correct for place in answered)
