"""probe/accuracy: the accuracy is measured, and meets the reference or threshold if one is given."""

from __future__ import annotations

from healthcheck import contract
from healthcheck.check import Findings, NotApplicable, check, fail, note, unsettled, warn
from healthcheck.probe import baselines, export, figures, verdict
from healthcheck.probe.export import client_text
from healthcheck.probe.records import EndedBy, ProbeRun
from healthcheck.probe.statistics.gate import Decision
from healthcheck.probe.statistics.records import Estimate, Summary
from healthcheck.probe.statistics.summary import accuracy_name
from healthcheck.probe.words import excerpt
from healthcheck.records import Stage

MISREAD = 0.02
DEGRADED = (
    "measure again with another --dtype, without quantisation, with --tensor-parallel-size 1; "
    "check the chat template"
)


@check(
    "probe/accuracy",
    "Accuracy is measured, and meets the reference if one is given",
    stage=Stage.PROBE,
    why="The evaluation publishes the accuracy, which deployment faults lower first.",
    requires=("endpoint/stream",),
)
def accuracy(run: ProbeRun) -> Findings:
    """Grades every answer exactly. Without --reference and --threshold the accuracy is reported, not judged; only
    no right answer at all warns.

    With --reference R (the accuracy of healthy weights on these problems) a sequential test decides between healthy
    (at least R - 0.05) and degraded (at most R - 0.30), with an error of 1 % each. It uses the first sample of each
    problem in the order of dispatch, counts failed requests as wrong, and stops when the evidence is clear. Unclear
    evidence is inconclusive, never a pass. With --threshold T the 95 % interval decides: above T, below T, or
    inconclusive.

    Repair of a degraded deployment: measure again with another --dtype, without quantisation, with
    --tensor-parallel-size 1, with the chat template of the weights; npu-adapter compare shows which problems
    flipped.
    """
    chosen = figures.grid(run)
    if not chosen.rows:
        raise NotApplicable("no sample of the first round is complete")
    summary = figures.overall(run)
    reached = summary.estimate(accuracy_name(summary.repeats))
    assert reached
    tiers = "".join(f"; {tier.tier} {100 * tier.correct / tier.samples:.1f} %" for tier in figures.tiers(run))
    yield note(f"{_said(reached)}: {summary.problems} problems, {summary.samples} samples{tiers}")
    if run.settings.dataset and run.drawn_from and run.drawn_from > len(run.problems):
        yield note(
            f"the problems are a random sample of the {run.drawn_from} in {run.settings.dataset} "
            f"(--seed {run.settings.seed})"
        )
    if len(chosen.flat) < len(run.samples):
        yield note(
            f"{len(run.samples) - len(chosen.flat)} more of the {len(run.samples)} samples count in no figure: "
            "their round is not complete, or earlier requests were still unanswered at the end"
        )
    if run.stopped:
        yield note(f"the run ended early ({run.stopped}): {_leaning(run.ended_by)}")
    yield from _baselines(run)
    yield from _second_opinion(run)
    if run.settings.references:
        yield from _against_reference(run)
    if run.settings.threshold is not None:
        yield from _against_threshold(reached, run.settings.threshold)
    if not run.settings.references and run.settings.threshold is None:
        yield from _unjudged(run, summary)


def _leaning(ended_by: EndedBy | None) -> str:
    """How the end of a run biases its figures: an end that the answers decided does."""
    match ended_by:
        case EndedBy.EVIDENCE:
            return "its figures lean to what ended it; --full takes every sample"
        case EndedBy.FAILURES:
            return "its figures lean to what ended it"
        case EndedBy.INTERRUPT | EndedBy.KILL | None:
            return "its figures are of what was answered by then"


def _unjudged(run: ProbeRun, summary: Summary) -> Findings:
    """Without a reference and a threshold."""
    said = [sample for sample in run.samples if not sample.error]
    if summary.correct or not said:
        yield note("measured, not judged: neither --reference nor --threshold says what would be enough")
    else:
        yield warn(
            expected="some right answers to grade-school problems",
            seen=f"none of {summary.samples} is right; the first is {excerpt(client_text(said[0]))}",
            fix="look at the answers in predictions/: a wrong chat template or broken weights look like this",
        )


def _baselines(run: ProbeRun) -> Findings:
    chosen = figures.grid(run)
    shares = baselines.accuracies([run.problems[problem] for problem in chosen.problems])
    told = ", ".join(f"{name} {100 * share:.1f} %" for name, share in shares.items())
    if told:
        yield note(f"without any model, on the same problems: {told}")


def _second_opinion(run: ProbeRun) -> Findings:
    differing = export.misread(run)
    lost = [answer for answer in differing if answer.right]
    gifts = [answer for answer in differing if not answer.right]
    if gifts:
        yield note(
            f"{len(gifts)} of {len(run.samples)} answers are wrong, but the evaluation client will call them "
            f"right: it reads {gifts[0].read!r} (right: {gifts[0].expected}) from …{excerpt(gifts[0].text[-60:])}"
        )
    if not lost:
        return
    told = f"{len(lost)} of {len(run.samples)} answers are right, but the evaluation client will not see it: "
    seen = f"{told}it reads {lost[0].read!r} (right: {lost[0].expected}) from …{excerpt(lost[0].text[-60:])}"
    if len(lost) < MISREAD * len(run.samples):
        yield note(seen)
        return
    yield warn(
        expected="answers that end in their number, written without thousands separators",
        seen=seen,
        fix="state the final number last and plainly (a system prompt in the chat template can ask for it)",
        rule=contract.CLIENT_IS_AISBENCH,
        evidence={"misread": len(lost)},
    )


def _against_reference(run: ProbeRun) -> Findings:
    judged = verdict.judge(run)
    told = ", ".join(f"{tier} {value:.2f}" for tier, value in run.settings.references.items())
    if judged is None:
        yield unsettled(
            expected=f"a reference on which {len(run.problems)} problems can tell healthy from degraded",
            seen=f"the reference is {told}",
            fix="ask for more problems (--problems), and for easier ones where the reference is below 0.65",
        )
        return
    gate, evidence = judged.choice.gate, judged.evidence
    seen = (
        f"{evidence.total:g} of {evidence.observations} first samples right (problems: {judged.choice.tier}), "
        f"reference {judged.choice.reference:.2f}"
    )
    data = {"healthy_log10_e": evidence.healthy_e, "degraded_log10_e": evidence.degraded_e}
    if evidence.decision is Decision.HEALTHY:
        yield note(
            f"healthy: {gate.bad:.2f} or less is excluded at an error of {100 * gate.alpha:g} %: {seen}",
            evidence=data,
        )
    elif evidence.decision is Decision.DEGRADED:
        yield fail(
            expected=f"an accuracy near the reference of {judged.choice.reference:.2f} (at least {gate.good:.2f})",
            seen=f"degraded: {gate.good:.2f} or more is excluded at an error of {100 * gate.beta:g} %: {seen}",
            fix=DEGRADED,
            evidence=data,
        )
    else:
        yield unsettled(
            expected=f"a clear answer: at least {gate.good:.2f}, or at most {gate.bad:.2f}",
            seen=f"{seen}: between the two, or too few",
            fix="ask for more (--problems), or compare two runs on the same problems (npu-adapter compare)",
            evidence=data,
        )


def _against_threshold(reached: Estimate, threshold: float) -> Findings:
    if reached.high < threshold:
        yield fail(
            expected=f"an accuracy of at least {threshold:.2f}",
            seen=_said(reached),
            fix=DEGRADED,
        )
    elif reached.low < threshold:
        yield unsettled(
            expected=f"an interval on one side of {threshold:.2f}",
            seen=_said(reached),
            fix="ask for more problems (--problems): the interval narrows with their number",
        )


def _said(estimate: Estimate) -> str:
    return (
        f"{estimate.name} {100 * estimate.value:.2f} % "
        f"({100 * estimate.level:.0f} % interval {100 * estimate.low:.1f} to {100 * estimate.high:.1f})"
    )
