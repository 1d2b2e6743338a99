"""The probe's progress line: done, in flight, rate, time left, the estimate so far with its interval."""

from __future__ import annotations

import time

from healthcheck.probe.grading import Grade
from healthcheck.probe.records import Sample
from healthcheck.probe.statistics.intervals import plus_two_t
from healthcheck.progress import Progress


class Meter:
    """Counts samples as they arrive, and reports the progress."""

    def __init__(self, progress: Progress, *, total: int) -> None:
        self._progress = progress
        self._total = total
        self._began = time.monotonic()
        self._failed = 0
        self._recorded = 0
        self._earlier = 0
        self._scores: dict[int, float] = {}
        self._next = 0
        self._by_problem: dict[int, list[float]] = {}
        self._problem_at: dict[int, int] = {}

    def take(self, sample: Sample, grade: Grade) -> None:
        """One more sample; the estimate follows dispatch order, as quick answers are not typical answers."""
        self._recorded += 1
        self._failed += bool(sample.error)
        self._scores[sample.order], self._problem_at[sample.order] = grade.score, sample.problem
        while self._next in self._scores:
            problem = self._problem_at.pop(self._next)
            self._by_problem.setdefault(problem, []).append(self._scores.pop(self._next))
            self._next += 1

    def start(self) -> None:
        """Start to measure the rate: the samples so far came from an earlier part of the run."""
        self._began, self._earlier = time.monotonic(), self._recorded

    def show(self, in_flight: int) -> None:
        """Report the progress of the run."""
        self._progress.update(self._line(in_flight), done=self._recorded, total=self._total)

    def _line(self, in_flight: int) -> str:
        elapsed = max(time.monotonic() - self._began, 1e-6)
        rate = (self._recorded - self._earlier) / elapsed
        parts = [f"{self._recorded}/{self._total} samples", f"{in_flight} in flight", f"{rate:.1f}/s"]
        if rate:
            parts.append(f"{(self._total - self._recorded) / rate:.0f} s left")
        if self._failed:
            parts.append(f"{self._failed} failed")
        values = [sum(scores) / len(scores) for scores in self._by_problem.values()]
        if values:
            interval = plus_two_t(values)
            share = sum(values) / len(values)
            parts.append(f"accuracy {100 * share:.1f} % ({100 * interval.low:.0f} to {100 * interval.high:.0f})")
        return " · ".join(parts)
