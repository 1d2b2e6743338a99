"""`npu-adapter score`: the user's own scores of a run's samples, and the answers that the scores choose."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from healthcheck.cli import output
from healthcheck.core.records import SCHEMA
from healthcheck.errors import UsageError
from healthcheck.extensions.lab import user_scores
from healthcheck.extensions.lab.combining import Combine
from healthcheck.extensions.lab.user_scores import UserScores
from healthcheck.report.words import plain
from healthcheck.stages.probe.records import ProbeRun
from healthcheck.stages.probe.results import figures
from healthcheck.stages.probe.results.metrics import compute_metrics
from healthcheck.stages.probe.run.folder import load, write_metrics
from healthcheck.stages.probe.run.layout import METRICS
from healthcheck.text.messages import msg


def run(options: argparse.Namespace) -> int:
    """Score the samples, store the scores with the run, and print the figures."""
    output.refuse_unwritable(options.json)
    probed = load(options.run_folder)
    if not figures.grid(probed).rows:
        raise UsageError(
            msg("{run_folder} has no complete sample to score", run_folder=options.run_folder)
        )
    columns = options.column or ["score"]
    scores = user_scores.from_file(probed, options.scores, columns, Combine(options.combine))
    user_scores.keep(options.run_folder, scores)
    write_metrics(probed, compute_metrics(probed))
    output.show(lines_of(probed, scores), options.json, lambda: as_json(probed, scores))
    return 0


def as_json(run: ProbeRun, scores: UserScores) -> dict[str, object]:
    """The figures as JSON values between 0 and 1."""
    return {
        "schema": SCHEMA,
        "source": scores.source,
        "samples": len(scores.scores),
        "figures": [estimate for estimate, _ in figures.choices(run)],
    }


def lines_of(run: ProbeRun, scores: UserScores) -> Iterator[str]:
    grid = figures.grid(run)
    yield plain(
        msg("{values} scores from {source}", values=len(scores.scores), source=scores.source)
    )
    yield msg(
        "{rows} problems × {repeats} samples; one answer is chosen for each problem",
        rows=len(grid.rows),
        repeats=grid.repeats,
    )
    yield ""
    yield msg(
        "{share:>9}  {interval:<15} chosen", share=msg("right, %"), interval=msg("95 % interval")
    )
    for estimate, said in figures.choices(run):
        interval = msg("{low:.1f} to {high:.1f}", low=100 * estimate.low, high=100 * estimate.high)
        yield msg(
            "{value:>9.2f}  {interval:<15} {said} ({name})",
            value=100 * estimate.value,
            interval=interval,
            said=said,
            name=estimate.name,
        )
    if any(score < 0 for _, _, score in scores.scores):
        yield msg("note: a negative score has no weight in a vote, so that scores only rank here")
    yield ""
    yield plain(
        msg(
            "Kept in {folder}; figures for every k are in {report}",
            folder=run.folder / user_scores.STORED,
            report=run.folder / METRICS,
        )
    )
