"""The checks of the probe: requests end, answers are sound, they fit, and they are right often enough."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

from healthcheck import contract
from healthcheck.check import Check, Findings, NotApplicable, check, fail, note, unsettled, warn
from healthcheck.probe import baselines, export, figures, runaway, verdict
from healthcheck.probe.check_text import degenerate, excerpt
from healthcheck.probe.export import client_text
from healthcheck.probe.facts import CLEAR
from healthcheck.probe.records import ProbeRun
from healthcheck.probe.sampler import GAVE_UP
from healthcheck.probe.shares import surely
from healthcheck.probe.statistics.gate import Decision
from healthcheck.probe.statistics.records import Estimate, Summary
from healthcheck.probe.statistics.summary import accuracy_name
from healthcheck.records import Finding, Stage

NEVER_ENDS = 0.5
MISREAD = 0.02
DEGRADED = (
    "measure again with another --dtype, without quantisation, with --tensor-parallel-size 1; "
    "check the chat template"
)


@check(
    "probe/completes",
    "Every request of the probe gets an answer",
    stage=Stage.PROBE,
    why="The evaluation client scores a request that failed as a wrong answer, and its report does not show it.",
    rule=contract.CHAT_STREAMING,
    requires=("endpoint/stream",),
)
def completes(run: ProbeRun) -> Findings:
    """The probe sends its problems to /v1/chat/completions as streams, many at a time, as the service does.

    Expected: each ends with an answer. A refused or broken connection, HTTP 429 and 5xx are tried again after a
    pause; what still fails counts as wrong in the accuracy and is named here. The evaluation client gives up on any
    HTTP status other than 200: a request that needed a second try here is a wrong answer there, a warning.

    Repair: read the server's log at the time of the failure. Common causes: the engine died (out of memory), fewer
    sequences allowed than are sent (--max-num-seqs queues, a proxy in front refuses), a context length that is too
    short for prompt and max_tokens (HTTP 400), a proxy that cuts long streams.
    """
    failed, answered = run.failed, len(run.samples) - len(run.failed)
    if failed:
        yield fail(
            expected=f"an answer to each of {len(run.samples)} requests",
            seen=f"{len(failed)} failed: {_counted(sample.error for sample in failed)}",
            fix="find the failure in the server's log; the first failed request is in logs/samples.jsonl",
            evidence={"failed": len(failed), "answered": answered, "first": failed[0].error},
        )
    if run.stopped not in {"", CLEAR} and not (failed and run.stopped.startswith(GAVE_UP)):
        yield unsettled(
            expected=f"{run.planned} samples",
            seen=f"{len(run.samples)} were taken: {run.stopped}",
            fix=f"while the server runs: npu-adapter probe {run.settings.url} --resume {run.folder}",
        )
    retried = [sample for sample in run.samples if sample.retried and not sample.error]
    if retried:
        yield warn(
            expected="an answer at the first try",
            seen=f"{len(retried)} of {len(run.samples)} requests needed more than one: "
            f"{_counted(error for sample in retried for error in sample.retried)}",
            fix="let the server queue requests rather than refuse them; the evaluation client does not ask again",
            evidence={"retried": len(retried)},
        )
    faulty = [sample for sample in run.samples if sample.faults]
    if faulty:
        yield warn(
            expected="streams that the evaluation client reads without loss",
            seen=f"{len(faulty)} of {len(run.samples)} streams: "
            f"{_counted(fault for sample in faulty for fault in sample.faults)}",
            fix="see endpoint/stream-framing and endpoint/stream-finish",
        )


@check(
    "probe/truncated",
    "Answers end by themselves",
    stage=Stage.PROBE,
    why="An answer that is cut at max_tokens is scored on whatever number stands last in it.",
    requires=("endpoint/stream",),
)
def truncated(run: ProbeRun) -> Findings:
    """Looks at answers with finish_reason "length": they reached max_tokens.

    Expected: none. A cut answer counts as right only where its final answer was already marked. What max_tokens the
    service sends is unknown; its client's stock value is 512. Reasoning that does not fit leaves no answer at all.

    Most answers cut, and going on without end (a loop, an end-of-turn token written out, another question that it
    asks itself, pages about a school problem) means that the model never stops: fail. Most of them cut while
    reasoning, or at a max_tokens that a wordy model needs, means that the accuracy says nothing about the
    deployment: inconclusive. The samples of a problem count as one.

    Repair: for a model that reasons, raise --max-tokens here, raise the context length that deploy.sh asks for, or
    turn reasoning off in the chat template. For a model that never stops, check eos_token_id in
    generation_config.json and the end-of-turn token of the chat template.
    """
    answered = [sample for sample in run.samples if not sample.error]
    if not answered:
        raise NotApplicable("no request was answered")
    cut = [sample for sample in answered if sample.finish_reason == "length"]
    if not cut:
        return
    reasoned = runaway.reasoning(run, cut)
    thoughts = {sample.order for sample in reasoned}
    endless = [sample for sample in cut if sample.order not in thoughts and runaway.endless(run, sample)]
    told: Callable[..., Finding] = warn
    if surely(endless, answered) > NEVER_ENDS:
        told = fail
    elif surely(cut, answered) > NEVER_ENDS:
        told = unsettled
    yield told(
        expected="answers that end before max_tokens",
        seen=f"{len(cut)} of {len(answered)} were cut at max_tokens={run.settings.max_tokens}"
        f"{f', {len(reasoned)} of them while reasoning' if reasoned else ''}"
        f"{f', {len(endless)} going on without end' if endless else ''}; one ends in {excerpt(cut[0].text[-60:])}",
        fix="give reasoning more room (--max-tokens, --max-model-len), or repair the end-of-turn token",
        evidence={"cut": len(cut), "of": len(answered), "reasoning": len(reasoned), "endless": len(endless)},
    )


@check(
    "probe/accuracy",
    "Accuracy is measured and, where asked for, high enough",
    stage=Stage.PROBE,
    why="The evaluation publishes the accuracy, and deployment faults show in it first.",
    requires=("endpoint/stream",),
)
def accuracy(run: ProbeRun) -> Findings:
    """Grades every answer exactly, and judges only against what was asked for.

    With --reference R (what healthy weights reach on these problems) a sequential test decides between healthy (at
    least R - 0.05) and degraded (at most R - 0.30), with an error of 1 % each, from the first sample of each
    problem in the order of dispatch; it stops when the evidence is clear. Unclear is inconclusive, never a pass.
    With --threshold T the 95 % interval decides: above T, below T, or inconclusive. With neither the accuracy is
    reported and not judged; that not one answer is right is a warning.

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
    if len(chosen.flat) < len(run.samples):
        yield note(
            f"{len(run.samples) - len(chosen.flat)} more of the {len(run.samples)} samples count in no figure: "
            "their round is not complete, or earlier requests were still unanswered at the end"
        )
    if run.stopped:
        yield note(f"the run ended early ({run.stopped}): {_leaning(run.stopped)}")
    yield from _baselines(run)
    yield from _second_opinion(run)
    if run.settings.references:
        yield from _against_reference(run)
    if run.settings.threshold is not None:
        yield from _against_threshold(reached, run.settings.threshold)
    if not run.settings.references and run.settings.threshold is None:
        yield from _unjudged(run, summary)


def _leaning(stopped: str) -> str:
    """What the end of a run did to its figures: what the answers decided is no accident."""
    if stopped == CLEAR:
        return "its figures lean to what ended it; --full takes every sample"
    if stopped.startswith(GAVE_UP):
        return "its figures lean to what ended it"
    return "its figures are of what was answered by then"


def _unjudged(run: ProbeRun, summary: Summary) -> Findings:
    """Where nothing was asked for."""
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
    lost = [answer for answer in export.misread(run) if answer.right]
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


def _counted(texts: Iterator[str]) -> str:
    """The most frequent of some texts with their numbers."""
    common = Counter(text[:200] for text in texts).most_common(3)
    return "; ".join(f"{count} × {text}" for text, count in common)


CHECKS: tuple[Check[ProbeRun], ...] = (completes, degenerate, truncated, accuracy)
