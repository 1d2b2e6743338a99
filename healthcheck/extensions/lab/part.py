"""The interface of the laboratory to the core's probe (specified in `stages/probe/laboratory.py`)."""

from __future__ import annotations

import math

from healthcheck.core.records import JsonValue
from healthcheck.extensions.lab import user_scores
from healthcheck.extensions.lab.adaptive_k import Majorities, Saving, saving, stopping
from healthcheck.extensions.lab.bootstrap import bootstrap
from healthcheck.extensions.lab.grading_noise import corrected_avg, corrected_pass_at_k
from healthcheck.extensions.lab.user_scores import SCORED
from healthcheck.extensions.lab.weighted_votes import figures_by_score
from healthcheck.stages.probe.records import Grid, ProbeRun, ProbeSettings
from healthcheck.stages.probe.results import figures
from healthcheck.stages.probe.results.metrics import as_json
from healthcheck.stages.probe.statistics.counting import cons_at_k, counts_of, pass_at_k
from healthcheck.stages.probe.statistics.estimates import Estimate
from healthcheck.stages.probe.statistics.summary import averages, per_problem
from healthcheck.text.messages import Message, msg


def majorities(settings: ProbeSettings, problems: int) -> Majorities:
    """Adaptive k for a run of this many problems."""
    return Majorities(stopping(settings), problems)


def rounds(settings: ProbeSettings) -> int:
    """The number of samples that adaptive k takes of every problem in any case."""
    return stopping(settings).least


def told(run: ProbeRun) -> Message:
    """A sentence about the savings of adaptive k."""
    return saving(run).told


def votes(run: ProbeRun, chosen: Grid) -> tuple[Estimate, ...]:
    """Weighted maj@k and best@k, by likelihood and by the user's scores, if available."""
    right, said = figures.matrix(run, chosen), figures.answers(run, chosen)
    found: tuple[Estimate, ...] = ()
    if likelihoods := _likelihoods(run, chosen):
        weights = [[math.exp(value) for value in row] for row in likelihoods]
        found += figures_by_score(right, said, weights, name="likelihood")
    scores = user_scores.of_grid(run, chosen)
    return found + (figures_by_score(right, said, scores, name="score") if scores else ())


def _likelihoods(run: ProbeRun, chosen: Grid) -> list[list[float]]:
    """The mean log-probability of each sample; empty unless the server sent all of them."""
    rows = [[run.samples[place].mean_logprob for place in row] for row in chosen.rows]
    known = [[value for value in row if value is not None] for row in rows]
    return known if sum(map(len, known)) == len(chosen.flat) else []


def choices(run: ProbeRun, chosen: Grid) -> tuple[tuple[Estimate, str], ...]:
    """The answers that adaptive k, likelihood and the user's scores choose, if available."""
    n = chosen.repeats
    names = {
        f"weighted maj@{n} (likelihood)": msg("the answer of the greatest likelihood"),
        f"weighted maj@{n}{SCORED}": msg("the answer of the greatest score"),
        f"best@{n}{SCORED}": msg("the sample of the highest score"),
    }
    found = {estimate.name: estimate for estimate in votes(run, chosen)}
    majority = saving(run).majority if run.settings.adaptive_k is not None else None
    adaptive = ((majority, msg("the most frequent answer of adaptively many samples")),) if majority else ()
    return adaptive + tuple((found[name], said) for name, said in names.items() if name in found)


def metrics(run: ProbeRun, chosen: Grid) -> dict[str, JsonValue]:
    """The figures of all choices, the savings of adaptive k, figures without grading noise, bootstrap intervals."""
    source = user_scores.stored(run.folder).source
    return {
        **{estimate.name: as_json(estimate) for estimate, _ in choices(run, chosen)},
        **({"scores": source} if source else {}),
        **({"adaptive k": _saved(saving(run))} if run.settings.adaptive_k is not None else {}),
        **_corrected(run, chosen),
        **_bootstrapped(run, chosen),
    }


def _saved(found: Saving) -> dict[str, JsonValue]:
    return {
        "error": found.rule.error,
        "samples": found.sent,
        "asked": found.asked,
        "saved": found.saved,
        "late": found.late,
        "problems settled early": found.early,
        "samples of each problem in other figures": found.rule.least,
        "said": found.told,
    }


def _corrected(run: ProbeRun, chosen: Grid) -> dict[str, JsonValue]:
    """avg@n and pass@n without the grader's errors, if their rates were given."""
    fn, fp = run.settings.grading_noise
    average = figures.overall(run).estimate(f"avg@{chosen.repeats}")
    if not (fn or fp) or average is None:
        return {}
    passed = corrected_pass_at_k(counts_of(figures.matrix(run, chosen)), chosen.repeats, fn, fp)
    corrected = (corrected_avg(average, fn, fp), passed)
    return {f"{estimate.name} without grading noise": as_json(estimate) for estimate in corrected}


def _bootstrapped(run: ProbeRun, chosen: Grid) -> dict[str, JsonValue]:
    """The headline figures with percentile bootstrap intervals over problems, if requested."""
    seed, resamples = run.settings.seed, run.settings.bootstrap
    if not resamples:
        return {}
    n, right = chosen.repeats, [sum(row) for row in figures.matrix(run, chosen)]
    of_problems = (
        *averages(figures.matrix(run, chosen), figures.scores(run, chosen), n),
        (f"pass@{n}", [pass_at_k(n, c, n) for c in right]),
        (f"cons@{n}", [cons_at_k(n, c, n) for c in right]),
    )
    estimates = (
        per_problem(name, values, bootstrap(values, seed=seed, resamples=resamples), len(chosen.flat))
        for name, values in of_problems
    )
    return {"bootstrap": {estimate.name: as_json(estimate) for estimate in estimates}}
