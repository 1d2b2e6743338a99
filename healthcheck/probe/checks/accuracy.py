"""probe/accuracy: the accuracy is measured, and meets the reference or threshold if one is given."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from healthcheck import __version__, contract
from healthcheck.check import Findings, NotApplicable, check, fail, note, unsettled, warn
from healthcheck.probe import baselines, export, figures, verdict
from healthcheck.probe.adaptive import saving
from healthcheck.probe.export import client_text
from healthcheck.probe.records import THE_KIT, EndedBy, ProbeRun, many
from healthcheck.probe.statistics.gate import Decision
from healthcheck.probe.statistics.records import THIS_BANK, Estimate
from healthcheck.probe.statistics.reference import Look
from healthcheck.probe.statistics.summary import ALL, accuracy_name
from healthcheck.probe.verdict import Judgement
from healthcheck.probe.words import excerpt
from healthcheck.records import JsonValue, Stage

MISREAD = 0.02
FLOORS = ("most frequent answer", "keyword")
"""Baselines that do not read the question. A sound model is above them."""
GUESSED = 0.05
"""Numbers at random, or an echo of the question, reach some percent where the right answers are all different."""
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
    """Grades every answer exactly. Without --reference and --threshold the accuracy is reported, not judged. But
    accuracy that is surely below that of the most frequent answer, or of a key word, or below 5 %, is inconclusive.
    So is a run without any right answer.

    With --reference (the accuracy of healthy weights on these problems, or the folder of their run) the probe
    decides between healthy and degraded, with an error of 1 % each. Healthy: a loss of the margin is excluded.
    Degraded: a loss is shown. --margin sets the margin in points; the default is what the samples asked for can
    settle. A reference run is compared problem by problem. It must have the same problems and the same sampling,
    must be complete, and must be sound itself. The test looks at the first sample of each problem in the order of
    dispatch, then at each complete round. It counts failed requests as wrong, and stops when the evidence is clear.
    Unclear evidence is inconclusive, never a pass; the line says how many more samples would settle it. With
    --threshold T the 95 % interval of all samples decides: above T, below T, or inconclusive.

    Repair of a degraded deployment: measure again with another --dtype, without quantisation, with
    --tensor-parallel-size 1, with the chat template of the weights; npu-adapter compare shows which problems
    flipped.

    Example:
    Healthy weights have an accuracy of .82 on these problems (--reference .82):

    ```sh deploy.sh
    exec vllm serve "$MODEL_PATH" --port {port} --dtype float16   # accuracy .31: overflows of a bfloat16 model
    ```

    Use instead:

    ```sh deploy.sh
    exec vllm serve "$MODEL_PATH" --port {port} --dtype bfloat16  # accuracy .81
    ```
    """
    chosen = figures.grid(run)
    if not chosen.rows:
        raise NotApplicable("no sample of the first round is complete")
    summary = figures.overall(run)
    reached = summary.estimate(accuracy_name(summary.repeats))
    assert reached
    tiers = "".join(f"; {tier.tier} {100 * tier.correct / tier.samples:.1f} %" for tier in figures.tiers(run))
    asked = f"{many(summary.problems, 'problem')}, {many(summary.samples, 'sample')}"
    yield note(f"{_said(reached)}: {asked}{tiers}")
    if run.settings.dataset and run.drawn_from and run.drawn_from > len(run.problems):
        yield note(
            f"the problems are a random sample of the {run.drawn_from} in {run.settings.dataset} "
            f"(--seed {run.settings.seed})"
        )
    if saved := saving(run):
        yield note(saved.told)
    elif len(chosen.flat) < len(run.samples):
        yield note(
            f"{len(run.samples) - len(chosen.flat)} more of the {len(run.samples)} samples count in no figure: "
            "their round is not complete, or earlier requests were still unanswered at the end"
        )
    if run.stopped:
        yield note(f"the run ended early ({run.stopped}): {_leaning(run.ended_by)}")
    yield from _baselines(run)
    yield from _graders(run)
    yield from _second_opinion(run)
    if run.settings.references:
        yield from _against_reference(run)
    if run.settings.threshold is not None:
        yield from _against_threshold(reached, run.settings.threshold)
    if not run.settings.references and run.settings.threshold is None:
        again = summary.estimate(reached.name, THIS_BANK)
        assert again
        yield from _unjudged(run, again)


def _leaning(ended_by: EndedBy | None) -> str:
    """How the end of a run biases its figures: an end that the answers decided does."""
    match ended_by:
        case EndedBy.EVIDENCE:
            return "its figures lean to what ended it; --full takes every sample"
        case EndedBy.FAILURES:
            return "its figures lean to what ended it"
        case EndedBy.INTERRUPT | EndedBy.KILL | None:
            return "its figures are of what was answered by then"


def _unjudged(run: ProbeRun, reached: Estimate) -> Findings:
    """Without a reference and a threshold: a model reaches what a constant answer or one key word does.

    `reached` is for these problems again, because what those reach is known for these problems.
    """
    said = [sample for sample in run.samples if not sample.error]
    shares = _without_model(run)
    floor, name = max(((shares[name], name) for name in FLOORS if name in shares), default=(0.0, ""))
    if not said or (reached.high >= max(floor, GUESSED) and reached.value):
        yield note("measured, not judged: neither --reference nor --threshold says what would be enough")
        return
    below = (
        f"less than {name!r} reaches without any model ({100 * floor:.1f} %)"
        if reached.high < floor
        else f"surely less than {100 * GUESSED:.0f} %, which guesses can reach"
        if reached.value
        else "none right"
    )
    yield unsettled(
        expected="more right answers than a program gives that does not read the question",
        seen=f"{_said(reached)} on these problems: {below}; the first answer is {excerpt(client_text(said[0]))}",
        fix="read the answers in predictions/: a wrong chat template or broken weights look like this; for a weak "
        "model give --reference with a run of the same weights elsewhere, --threshold, or easier problems",
        evidence={"high": reached.high, "without_model": floor},
    )


def _baselines(run: ProbeRun) -> Findings:
    shares = _without_model(run)
    told = ", ".join(f"{name} {100 * share:.1f} %" for name, share in shares.items())
    if told:
        yield note(f"without any model, on the same problems: {told}")


def _without_model(run: ProbeRun) -> Mapping[str, float]:
    return baselines.accuracies([run.problems[problem] for problem in figures.grid(run).problems])


def _graders(run: ProbeRun) -> Findings:
    """Who judged the answers, where it was not the kit alone."""
    counts = Counter(grade.by for grade in run.grades if grade.by)
    if counts:
        told = "; ".join(f"{name} for {count}" for name, count in sorted(counts.items()))
        yield note(f"graded by {THE_KIT} {__version__}; {told} of {len(run.samples)} answers")


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
    if judged is None:
        asked = f"{len(run.problems)} problems × {run.settings.samples}"
        yield unsettled(
            expected=f"a reference that {asked} samples can tell from half of it, and above the margin",
            seen=f"the reference is {run.settings.references.get(ALL, 0.0):.2f}",
            fix="ask for more problems (--problems), and for easier ones where the reference is below 0.65",
        )
        return
    question, evidence, last = judged.plan.question, judged.evidence, judged.last
    margin, error = f"{100 * question.margin:.1f} points", f"an error of {100 * question.error:g} %"
    measured = f"; change {_bounds(last)}" if last else ""
    seen = f"{judged.right:g} of {judged.samples} samples right, reference {question.accuracy:.3f}{measured}"
    data: dict[str, JsonValue] = {
        "healthy_log10_e": evidence.healthy_e, "degraded_log10_e": evidence.degraded_e, "margin": question.margin,
    }  # fmt: skip
    if judged.decision is Decision.HEALTHY:
        yield note(
            f"healthy: a loss of {margin} or more is excluded at {error}, a smaller one is not: {seen}",
            evidence=data,
        )
    elif judged.decision is Decision.DEGRADED:
        lost = f"a loss of more than {100 * question.slack:.1f} points" if question.slack else "a loss"
        yield fail(
            expected=f"an accuracy no worse than the reference of {question.accuracy:.3f}",
            seen=f"degraded: {lost} is shown at {error}: {seen}",
            fix=DEGRADED,
            evidence=data,
        )
    else:
        yield unsettled(
            expected=f"a loss shown, or a loss of {margin} excluded, at {error}",
            seen=f"not settled after {judged.samples} samples: {seen}",
            fix=_more(judged),
            evidence=data,
        )


def _bounds(last: Look) -> str:
    low, value, high = (100 * share for share in (last.low, last.change, last.high))
    return f"{value:+.1f} points (bounds {low:+.1f} and {high:+.1f})"


def _more(judged: Judgement) -> str:
    question = judged.plan.question
    if judged.more is None:
        return "ask for more problems (--problems), or take all samples (--resume)"
    problems = question.problems + judged.more // question.repeats
    where = " in the reference run and here" if question.before else ""
    return (
        f"about {judged.more} more samples would settle it if the change is as measured: "
        f"--problems {problems}{where}; or a wider --margin"
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
