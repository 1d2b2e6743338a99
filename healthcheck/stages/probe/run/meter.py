"""The probe's progress line: done, in flight, rate, time left, the current estimate with its interval."""

from __future__ import annotations

import time

from healthcheck.core.progress import Progress
from healthcheck.stages.probe.grading import Grade
from healthcheck.stages.probe.records import Sample
from healthcheck.stages.probe.statistics.intervals import by_problem
from healthcheck.text.messages import joined, msg

_SOON_TOLD = 1.01


class Meter:
    """Counts samples as they arrive, and reports the progress."""

    def __init__(self, progress: Progress, *, total: int) -> None:
        """`total` is the number of samples."""
        self._progress = progress
        self._total = total
        self._began = time.monotonic()
        self._failed = 0
        self._recorded = 0
        self._earlier = 0
        self._waiting: dict[int, tuple[int, float]] = {}
        self._next = 0
        self._by_problem: dict[int, list[float]] = {}
        self._told_at = 0
        self._told = ""

    def take(self, sample: Sample, grade: Grade) -> None:
        """Count one more sample; the estimate follows dispatch order, since quick answers are not typical."""
        self._recorded += 1
        self._failed += bool(sample.error)
        self._waiting[sample.order] = (sample.problem, grade.score)
        while self._next in self._waiting:
            problem, score = self._waiting.pop(self._next)
            self._by_problem.setdefault(problem, []).append(score)
            self._next += 1

    def start(self) -> None:
        """Start to measure the rate: earlier samples came from another part of the run."""
        self._began, self._earlier = time.monotonic(), self._recorded

    def show(self, in_flight: int) -> None:
        """Report the progress of the run."""
        self._progress.update(self._line(in_flight), done=self._recorded, total=self._total)

    def _line(self, in_flight: int) -> str:
        elapsed = max(time.monotonic() - self._began, 1e-6)
        rate = (self._recorded - self._earlier) / elapsed
        done = msg("{done}/{total} samples", done=self._recorded, total=self._total)
        sent = msg("{in_flight} in flight", in_flight=in_flight)
        parts = [done, sent, f"{rate:.1f}/s"]
        if rate:
            parts.append(
                msg("{seconds} s left", seconds=round((self._total - self._recorded) / rate))
            )
        if self._failed:
            parts.append(msg("{failed} requests failed", failed=self._failed))
        if accuracy := self._accuracy():
            parts.append(accuracy)
        return joined(" · ", parts)

    def _accuracy(self) -> str:
        """The current estimate. It covers all problems, so it is recomputed after each percent of samples."""
        if self._next > _SOON_TOLD * self._told_at:
            values = [sum(scores) / len(scores) for scores in self._by_problem.values()]
            interval, share = by_problem(values), sum(values) / len(values)
            low, high = 100 * interval.low, 100 * interval.high
            self._told = msg(
                "accuracy {share:.1f} % ({low:.0f} to {high:.0f})",
                share=100 * share,
                low=low,
                high=high,
            )
            self._told_at = self._next
        return self._told
