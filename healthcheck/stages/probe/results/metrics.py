"""Every figure of a run with its interval, as JSON values, for the report and for other programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import fields

from healthcheck.core.records import SOFT_SCORES, JsonValue
from healthcheck.stages.probe.records import CLIENT, THE_KIT, Grid, ProbeRun
from healthcheck.stages.probe.results import baselines, export, figures, strata, verdict
from healthcheck.stages.probe.statistics.estimates import LIKE_THESE, THIS_BANK, Estimate, Summary
from healthcheck.stages.probe.statistics.intervals import wilson
from healthcheck.stages.probe.statistics.summary import ALL, accuracy_name


def compute_metrics(run: ProbeRun) -> dict[str, JsonValue]:
    """The service's four figures first, then the rest by subject. A run without samples has counts only."""
    chosen = figures.grid(run)
    counts: dict[str, JsonValue] = {
        "samples": len(run.samples),
        "samples in figures": len(chosen.flat),
        "failed requests": len(run.failed),
        "ended early": run.stopped,
    }
    if not chosen.rows:
        return counts
    summary = figures.overall(run)
    n = summary.repeats
    names = (accuracy_name(n), f"avg@{n}", *((f"pass@{n}", f"cons@{n}") if n > 1 else ()))
    return {
        **{name: as_json(estimate) for name in names if (estimate := summary.estimate(name))},
        "accuracy_strict": as_json(figures.accuracy_strict(run, chosen)),
        "form_missed": as_json(figures.form_missed(run, chosen)),
        **_without_failures(run, chosen),
        **counts,
        SOFT_SCORES: sum(0 < run.grades[place].score < 1 for place in chosen.flat),
        CLIENT: {name: round(value, 10) for name, value in export.client_figures(run).items()},
        "all": _summary(summary, figures.votes(run, chosen)),
        "tiers": {
            tier.tier: _summary(tier, figures.votes(run, figures.of_tier(run, chosen, tier.tier)))
            for tier in figures.tiers(run)
        },
        "strata": {
            name: {each.tier: _summary(each, ()) for each in summaries}
            for name, summaries in strata.strata(run).items()
        },
        "baselines": {
            **baselines.accuracies([run.problems[problem] for problem in chosen.problems])
        },
        "graders": dict(
            sorted(Counter(run.grades[place].by or THE_KIT for place in chosen.flat).items())
        ),
        "verdict": _verdict(run),
    }


def _verdict(run: ProbeRun) -> dict[str, JsonValue] | None:
    verdicts = verdict.judge(run)
    if verdicts is None:
        return None
    judged = verdicts.lenient
    question, evidence, last = judged.plan.question, judged.evidence, judged.last
    return {
        "decision": verdicts.decision.value,
        "decision by accuracy": judged.decision.value,
        "decision by accuracy_strict": verdicts.strict.decision.value if verdicts.strict else None,
        "problems": ALL,
        "reference": question.accuracy,
        "reference run": run.settings.reference_run.folder if run.settings.reference_run else None,
        "bad": round(question.accuracy - question.margin, 10),
        "good": round(question.accuracy - question.slack, 10),
        "alpha": question.error,
        "beta": question.error,
        "margin": question.margin,
        "settles": judged.plan.settles,
        "needed": judged.plan.needed,
        "samples": judged.samples,
        "right": judged.right,
        "healthy_log10_e": evidence.healthy_e,
        "degraded_log10_e": evidence.degraded_e,
        "change": None
        if last is None
        else {"value": last.change, "low": last.low, "high": last.high},
        "more samples": judged.more,
    }


def _without_failures(run: ProbeRun, chosen: Grid) -> dict[str, JsonValue]:
    """Accuracy of the answered requests, if some failed; its interval is for the same problems again."""
    answered = [place for place in chosen.flat if not run.samples[place].error]
    if not 0 < len(answered) < len(chosen.flat):
        return {}
    right = sum(run.grades[place].score for place in answered)
    share, asked = right / len(answered), len(chosen.problems)
    interval = wilson(right, len(answered))
    estimate = interval.of(
        "without failures", share, THIS_BANK, problems=asked, samples=len(answered)
    )
    return {estimate.name: as_json(estimate)}


def _summary(summary: Summary, votes: Sequence[Estimate]) -> dict[str, JsonValue]:
    return {
        "problems": summary.problems,
        "samples": summary.samples,
        "correct": summary.correct,
        "figures": _by_name((*summary.estimates, *votes)),
    }


def _by_name(estimates: Sequence[Estimate]) -> dict[str, JsonValue]:
    return {
        each.name if each.question == LIKE_THESE else f"{each.name} ({each.question})": as_json(
            each
        )
        for each in estimates
    }


def as_json(estimate: Estimate) -> dict[str, JsonValue]:
    """A figure as a JSON value; its name is the key."""
    return {
        field.name: getattr(estimate, field.name)
        for field in fields(estimate)
        if field.name != "name"
    }
