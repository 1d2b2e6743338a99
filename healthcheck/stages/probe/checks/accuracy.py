"""probe/accuracy: the accuracy is measured, and meets the reference or threshold if one is given."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from healthcheck import __version__, contract
from healthcheck.core.check import Findings, NotApplicable, fail, note, unsettled, warn
from healthcheck.core.records import UNJUDGED
from healthcheck.stages.probe.problems import TIERS
from healthcheck.stages.probe.records import (
    FEW_PROBLEMS,
    THE_KIT,
    EndedBy,
    ProbeRun,
    check,
    count_of_problems,
    count_of_samples,
)
from healthcheck.stages.probe.results import baselines, export, figures, verdict
from healthcheck.stages.probe.results.answers import excerpt
from healthcheck.stages.probe.results.export import client_text
from healthcheck.stages.probe.results.meaning import meaning
from healthcheck.stages.probe.results.verdict import Observer
from healthcheck.stages.probe.statistics.estimates import THIS_BANK, Estimate
from healthcheck.stages.probe.statistics.gate import Decision
from healthcheck.stages.probe.statistics.summary import ALL, accuracy_name
from healthcheck.text.messages import joined, message, msg

_EXACT = msg(
    "the reference counts as exact; to count the error of one that was measured, give its run folder"
)
_VERDICTS = {
    Decision.HEALTHY: msg("passed"),
    Decision.DEGRADED: msg("failed"),
    Decision.OPEN: msg("not settled"),
}
_SAME_VERDICT = msg(
    "the same verdict with and without the answers that miss the form of the prompt"
)
_READ_MISSED = msg(
    "read these answers in logs/samples.jsonl: if the chat template or your own prompt loses the instruction at "
    "the end of the question, restore it (a prompt of your own needs {place}); otherwise ask more problems "
    "(--problems)",
    place="{instruction}",
)
MISREAD = 0.02
LARGE, EASY = 10**9, 0.9
"""Parameters from which a chat model solves so many sums of one step, unless its deployment is broken."""
FLOORS = ("most frequent answer", "keyword")
"""Baselines that do not read the question. A sound model is better."""
GUESSED = 0.05
"""Random numbers, or an echo of the question, reach a few percent if the right answers are all different."""
DEGRADED = msg(
    "measure again with another --dtype, without quantisation, with --tensor-parallel-size 1; "
    "check the chat template"
)


@check(
    "probe/accuracy",
    msg("Accuracy is measured, and meets the reference if one is given"),
    why=msg("The evaluation publishes the accuracy, which deployment faults lower first."),
)
def accuracy(run: ProbeRun) -> Findings:
    """Grades every answer exactly. Without --reference and --threshold the accuracy is reported, not judged. But
    accuracy that is surely below that of the most frequent answer, or of a key word, or below 5 %, is inconclusive.
    So is a run without any right answer. Fewer than 30 problems warn, and so do weights of a billion parameters or
    more that surely solve less than 90 % of the easy problems (additions and subtractions).

    With --reference (the accuracy of healthy weights on these problems, or the folder of their run) the probe
    decides between healthy and degraded, with an error of 1 % each. Healthy: a loss of the margin is excluded.
    Degraded: a loss is shown. --margin sets the margin in points; the default is what the samples asked for can
    settle, and at most 10. A reference run is compared problem by problem. It must have the same problems and the
    same sampling, must be complete, and must be sound itself. The test looks at the first sample of each problem
    in the order of dispatch, then at each complete round. It counts failed requests as wrong, and stops when the
    evidence is clear. Unclear evidence is inconclusive, never a pass; the line says how many more samples would
    settle it. With --threshold T the 95 % interval of all samples decides: above T, below T, or inconclusive.

    The prompt asks for a form, such as “The answer is N.”. An answer that misses it counts as right if its last
    number, formula, letter or line is. `form_missed` is the share of such samples, and `accuracy_strict` counts
    them as wrong. A verdict that depends on them is inconclusive.

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
        raise NotApplicable(msg("no sample of the first round is complete"))
    summary = figures.overall(run)
    reached = summary.estimate(accuracy_name(summary.repeats))
    assert reached
    rates = ((tier.tier, 100 * tier.correct / tier.samples) for tier in figures.tiers(run))
    tiers = joined(
        "", (msg("; {tier} {correct:.1f} %", tier=tier, correct=correct) for tier, correct in rates)
    )
    asked = msg(
        "{problems}, {samples}",
        problems=count_of_problems(summary.problems),
        samples=count_of_samples(summary.samples),
    )
    yield note(msg("{said}: {asked}{tiers}", said=_said(reached), asked=asked, tiers=tiers))
    runs_code = any(problem.kind.runs for problem in run.problems)
    yield from _form(run)
    yield from map(note, meaning(summary, () if runs_code else figures.votes(run, chosen)))
    if summary.problems < FEW_PROBLEMS:
        seen = msg(
            "{problems}: the accuracy is between {low:.0f} and {high:.0f} %",
            problems=count_of_problems(summary.problems),
            low=100 * reached.low,
            high=100 * reached.high,
        )
        expected, fix = (
            msg("at least {few} problems", few=FEW_PROBLEMS),
            msg("ask more: --problems 120"),
        )
        yield note(seen) if run.stopped else warn(expected=expected, seen=seen, fix=fix)
    if run.settings.dataset and run.drawn_from and run.drawn_from > len(run.problems):
        yield note(
            msg(
                "the problems are a random sample of the {drawn_from} in {dataset} (--seed {seed})",
                drawn_from=run.drawn_from,
                dataset=run.settings.dataset,
                seed=run.settings.seed,
            )
        )
    if len(chosen.flat) < len(run.samples):
        left_out = msg(
            "{left_out} more of the {samples} samples count in no figure: their round is not complete, "
            "or earlier requests were still unanswered at the end",
            left_out=len(run.samples) - len(chosen.flat),
            samples=len(run.samples),
        )
        yield note(left_out)
    if run.stopped:
        yield note(
            msg(
                "the run ended early ({stopped}): {leaning}",
                stopped=message(run.stopped),
                leaning=_leaning(run.ended_by),
            )
        )
    yield from _baselines(run)
    yield from _graders(run)
    yield from _second_opinion(run)
    if run.settings.references:
        yield from _against_reference(run)
    if run.settings.threshold is not None:
        yield from _against_threshold(run, reached, run.settings.threshold)
    if not run.settings.references and run.settings.threshold is None:
        again = summary.estimate(reached.name, THIS_BANK)
        assert again
        yield from _unjudged(run, again)
        yield from _weak_for_its_size(run)


def _leaning(ended_by: EndedBy | None) -> str:
    """How the end of a run biases its figures: they are biased if the answers decided the end."""
    match ended_by:
        case EndedBy.EVIDENCE | EndedBy.CUT:
            return msg("its figures lean to what ended it; --full takes every sample")
        case EndedBy.FAILURES:
            return msg("its figures lean to what ended it")
        case EndedBy.INTERRUPT | EndedBy.KILL | None:
            return msg("its figures are of what was answered by then")


def _unjudged(run: ProbeRun, reached: Estimate) -> Findings:
    """Without a reference or threshold: whether a model reaches the accuracy of a constant answer or a keyword.

    `reached` is an estimate for these problems, since the baselines are computed for these problems.
    """
    said = [sample for sample, _ in run.answered]
    shares = _without_model(run)
    floor, name = max(
        ((shares[name], name) for name in FLOORS if name in shares), default=(0.0, "")
    )
    if not said or (reached.high >= max(floor, GUESSED) and reached.value):
        unjudged = msg(
            "measured, not judged: neither --reference nor --threshold says what would be enough"
        )
        yield note(unjudged, evidence={UNJUDGED: reached.value})
        return
    below = msg("none right")
    if reached.high < floor:
        below = msg(
            "less than “{name}” reaches without any model ({floor:.1f} %)",
            name=message(name),
            floor=100 * floor,
        )
    elif reached.value:
        below = msg(
            "surely less than {guessed:.0f} %, which guesses can reach", guessed=100 * GUESSED
        )
    expected = msg("more right answers than a program gives that does not read the question")
    seen = msg(
        "{said} on these problems: {below}; the first answer is {client_text}",
        said=_said(reached),
        below=below,
        client_text=excerpt(client_text(said[0])),
    )
    fix = msg(
        "read the answers in logs/samples.jsonl: a wrong chat template or broken weights look like this; for a "
        "weak model give --reference with a run of the same weights elsewhere, --threshold, or easier problems"
    )
    yield unsettled(expected=expected, seen=seen, fix=fix)


def _weak_for_its_size(run: ProbeRun) -> Findings:
    """Whether a large model fails at the kit's easy problems, which one of a billion parameters solves."""
    easy = next((tier for tier in figures.tiers(run) if tier.tier == TIERS[0]), None)
    reached = easy.estimate(f"avg@{easy.repeats}", THIS_BANK) if easy else None
    if (
        run.settings.dataset
        or run.settings.parameters < LARGE
        or reached is None
        or reached.high >= EASY
    ):
        return
    seen = msg(
        "{accuracy:.0f} % of the easy ones (at most {high:.0f} %), with {billions:.1f} billion parameters",
        accuracy=100 * reached.value,
        high=100 * reached.high,
        billions=run.settings.parameters / 1e9,
    )
    expected = msg(
        "{easy:.0f} % of the easy problems and more from a chat model of this size", easy=100 * EASY
    )
    yield warn(expected=expected, seen=seen, fix=DEGRADED)


def _baselines(run: ProbeRun) -> Findings:
    shares = _without_model(run)
    told = joined(
        ", ",
        (
            msg("{name} {share:.1f} %", name=message(name), share=100 * share)
            for name, share in shares.items()
        ),
    )
    if told:
        yield note(msg("without any model, on the same problems: {told}", told=told))


def _without_model(run: ProbeRun) -> Mapping[str, float]:
    return baselines.accuracies([run.problems[problem] for problem in figures.grid(run).problems])


def _graders(run: ProbeRun) -> Findings:
    """The graders, if other than the kit alone."""
    counts = Counter(grade.by for grade in run.grades if grade.by)
    if counts:
        told = joined(
            "; ",
            (
                msg("{name} for {count}", name=name, count=count)
                for name, count in sorted(counts.items())
            ),
        )
        yield note(
            msg(
                "graded by {the_kit} {version}; {told} of {samples} answers",
                the_kit=THE_KIT,
                version=__version__,
                told=told,
                samples=len(run.samples),
            )
        )


def _second_opinion(run: ProbeRun) -> Findings:
    differing = [*export.misread(run)]
    lost = [answer for answer in differing if answer.right]
    gifts = [answer for answer in differing if not answer.right]
    if gifts:
        called_right = msg(
            "{gifts} of {samples} answers are wrong, but the evaluation client will call them right: it "
            "reads {read} (right: {expected}) from …{text}",
            gifts=len(gifts),
            samples=len(run.samples),
            read=repr(gifts[0].read),
            expected=gifts[0].expected,
            text=excerpt(gifts[0].text[-60:]),
        )
        yield note(called_right)
    if not lost:
        return
    told = msg(
        "{lost} of {samples} answers are right, but the evaluation client will not see it: ",
        lost=len(lost),
        samples=len(run.samples),
    )
    seen = msg(
        "{told}it reads {read} (right: {expected}) from …{text}",
        told=told,
        read=repr(lost[0].read),
        expected=lost[0].expected,
        text=excerpt(lost[0].text[-60:]),
    )
    if len(lost) < MISREAD * len(run.samples):
        yield note(seen)
        return
    expected = msg("answers that end in their number, written without thousands separators")
    fix = msg(
        "state the final number last and plainly (a system prompt in the chat template can ask for it)"
    )
    yield warn(expected=expected, seen=seen, fix=fix, rule=contract.CLIENT_IS_AISBENCH)


def _against_reference(run: ProbeRun) -> Findings:
    verdicts = verdict.judge(run)
    if verdicts is None:
        asked = msg(
            "{problems} problems × {samples}",
            problems=len(run.problems),
            samples=run.settings.samples,
        )
        expected = msg(
            "a reference that {asked} samples can tell from half of it, and above the margin",
            asked=asked,
        )
        seen = msg(
            "the reference is {reference:.2f}", reference=run.settings.references.get(ALL, 0.0)
        )
        fix = msg(
            "ask for more problems (--problems), and for easier ones where the reference is below 0.65"
        )
        yield unsettled(expected=expected, seen=seen, fix=fix)
        return
    judged = verdicts.lenient
    question, last = judged.plan.question, judged.last
    margin = msg("{margin:.1f} points", margin=100 * question.margin)
    error = msg("an error of {error:g} %", error=100 * question.error)
    measured = msg("; change {bounds}", bounds=_bounds(judged)) if last else ""
    seen = msg(
        "{right:g} of {samples} samples right, reference {accuracy:.3f}{measured}",
        right=judged.right,
        samples=judged.samples,
        accuracy=question.accuracy,
        measured=measured,
    )
    if not question.before:
        yield note(_EXACT)
    if verdicts.strict and verdicts.differ:
        yield from _differing(run, judged.decision, verdicts.strict.decision)
        return
    if judged.decision is Decision.HEALTHY:
        seen = msg(
            "healthy: a loss of {margin} or more is excluded at {error}, a smaller one is not: {seen}",
            margin=margin,
            error=error,
            seen=seen,
        )
        yield note(seen)
    elif judged.decision is Decision.DEGRADED:
        more_than = msg("a loss of more than {slack:.1f} points", slack=100 * question.slack)
        lost = more_than if question.slack else msg("a loss")
        expected = msg(
            "an accuracy no worse than the reference of {accuracy:.3f}", accuracy=question.accuracy
        )
        seen = msg(
            "degraded: {lost} is shown at {error}: {seen}", lost=lost, error=error, seen=seen
        )
        yield fail(expected=expected, seen=seen, fix=DEGRADED)
    else:
        expected = msg(
            "a loss shown, or a loss of {margin} excluded, at {error}", margin=margin, error=error
        )
        seen = msg("not settled after {samples} samples: {seen}", samples=judged.samples, seen=seen)
        yield unsettled(expected=expected, seen=seen, fix=_more(judged))


def _bounds(judged: Observer) -> str:
    """The measured change, with its bounds where these decided: a loss against a run is shown by signs."""
    last, question = judged.last, judged.plan.question
    assert last
    low, value, high = (
        round(100 * share, 1) + 0.0 for share in (last.low, last.change, last.high)
    )  # no -0.0
    if judged.decision is Decision.DEGRADED and question.before and not question.slack:
        return msg("{value:+.1f} points, by the test of signs", value=value)
    return msg(
        "{value:+.1f} points (bounds {low:+.1f} and {high:+.1f})", value=value, low=low, high=high
    )


def _more(judged: Observer) -> str:
    question = judged.plan.question
    if judged.more is None:
        return msg("ask for more problems (--problems), or take all samples (--resume)")
    problems = question.problems + judged.more // question.repeats
    where = msg(" in the reference run and here") if question.before else ""
    return msg(
        "about {more} more samples would settle it if the change is as measured: --problems "
        "{problems}{where}; or a wider --margin",
        more=judged.more,
        problems=problems,
        where=where,
    )


def _against_threshold(run: ProbeRun, reached: Estimate, threshold: float) -> Findings:
    strict = figures.accuracy_strict(run, figures.grid(run))
    if _side(reached, threshold) is not _side(strict, threshold):
        yield from _differing(run, _side(reached, threshold), _side(strict, threshold))
    elif reached.high < threshold:
        expected = msg("an accuracy of at least {threshold:.2f}", threshold=threshold)
        yield fail(expected=expected, seen=_said(reached), fix=DEGRADED)
    elif reached.low < threshold:
        expected = msg("an interval on one side of {threshold:.2f}", threshold=threshold)
        fix = msg("ask for more problems (--problems): the interval narrows with their number")
        yield unsettled(expected=expected, seen=_said(reached), fix=fix)


def _side(estimate: Estimate, threshold: float) -> Decision:
    """The decision of an interval."""
    if estimate.high < threshold:
        return Decision.DEGRADED
    return Decision.OPEN if estimate.low < threshold else Decision.HEALTHY


def _form(run: ProbeRun) -> Findings:
    """The answers that miss the form that the prompt asks for."""
    missed = figures.missing_form(run)
    if missed:
        strict = figures.accuracy_strict(run, figures.grid(run))
        yield note(
            msg(
                "{share}; accuracy_strict is {strict:.2f} %; one answer ends in {text}",
                share=_missed_share(run),
                strict=100 * strict.value,
                text=excerpt(run.samples[missed[0]].text.rstrip()[-60:]),
            )
        )


def _missed_share(run: ProbeRun) -> str:
    missed = len(figures.missing_form(run))
    return msg(
        "form missed in {share:.1f} % of the samples ({missed} of {samples})",
        share=100 * missed / len(run.samples),
        missed=missed,
        samples=len(run.samples),
    )


def _differing(run: ProbeRun, lenient: Decision, strict: Decision) -> Findings:
    """The verdict depends on the answers that miss the form: it is open."""
    seen = msg(
        "the verdict depends on answers that miss the form: {lenient} by accuracy, {strict} by accuracy_strict; "
        "{share}",
        lenient=_VERDICTS[lenient],
        strict=_VERDICTS[strict],
        share=_missed_share(run),
    )
    yield unsettled(expected=_SAME_VERDICT, seen=seen, fix=_READ_MISSED)


def _said(estimate: Estimate) -> str:
    return msg(
        "{name} {value:.2f} % ({level:.0f} % interval {low:.1f} to {high:.1f})",
        name=estimate.name,
        value=100 * estimate.value,
        level=100 * estimate.level,
        low=100 * estimate.low,
        high=100 * estimate.high,
    )
