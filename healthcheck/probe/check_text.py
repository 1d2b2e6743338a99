"""Whether the answers of a probe are text at all: the check of what the detectors see."""

from __future__ import annotations

from collections.abc import Iterator

from healthcheck.check import Findings, NotApplicable, check, fail, note, warn
from healthcheck.detectors import dominant_script, flags
from healthcheck.probe import figures
from healthcheck.probe.problems import prompt
from healthcheck.probe.records import ProbeRun, Sample
from healthcheck.probe.statistics.intervals import clopper_pearson, wilson
from healthcheck.records import Finding, Stage

TOLERATED = 0.05
"""Below this rate a fault of single texts is the model's; surely above it, the deployment's."""
DEAF = 0.5
_LONG_CHARACTERS = 40
"""A shorter text may well be right for many problems."""
_STYLE = frozenset({"constant", "tail_loop", "compressible", "implausible_words"})
"""In a right answer these are rules of dashes, tables and round numbers."""
_GARBAGE = (
    "try --dtype bfloat16, no quantisation, --enforce-eager, --tensor-parallel-size 1, in this order; "
    "npu-adapter explain probe/degenerate says why"
)
_ALL_REASONING = "their text is all in the reasoning field: remove --reasoning-parser, or choose the one that fits"


@check(
    "probe/degenerate",
    "Answers are text, not garbage",
    stage=Stage.PROBE,
    why='A deployment that answers "!!!!" or loops starts, streams and stops like a sound one.',
    requires=("endpoint/stream",),
)
def degenerate(run: ProbeRun) -> Findings:
    """Every answer is looked at for signs of a broken deployment.

    empty: nothing after the reasoning. constant: one character over and over (token 0 from NaN logits looks like
    "!!!!"). tail_loop, compressible: the same piece again and again. bad_codepoints: bytes that are no text.
    mixed_scripts: random tokens of a multilingual vocabulary. implausible_words: no small words in a long text.
    Also: the same text for most problems, whatever they ask; answers in another script than the question; all
    samples of every problem are the same text although the temperature asks for variety; final answers to a problem
    differ although the temperature is 0.

    Expected: none of these in more than 5 % of the answers. Wrong answers can be sound text: see probe/accuracy.

    Repair: try these in this order, and keep the first that ends it: --dtype bfloat16 (float16 overflows where
    bfloat16 does not), no quantisation, --enforce-eager (no graph capture), --tensor-parallel-size 1 (no exchange
    between NPUs). Where all text is in the reasoning field, remove --reasoning-parser. Where answers ignore the
    question or are in another script, check first that chat template and tokenizer are those of the weights; where
    they differ at temperature 0, try --max-num-seqs 1 first.
    """
    answered = [(sample, place) for place, sample in enumerate(run.samples) if not sample.error]
    if not answered:
        raise NotApplicable("no request was answered")
    seen: dict[str, list[Sample]] = {}
    for sample, place in answered:
        cut = sample.finish_reason == "length"
        for name in flags(sample.text):
            harmless = name in _STYLE and run.grades[place].correct
            if not harmless and not (name == "empty" and cut):
                seen.setdefault(name, []).append(sample)
    for name, samples in seen.items():
        yield _sign(name, samples, len(answered))
    yield from _deaf(run)
    yield from _languages(run)
    yield from _copies(run)
    yield from _flips(run)


def _sign(name: str, samples: list[Sample], total: int) -> Finding:
    surely = wilson(len(samples), total).low
    told = fail if surely > TOLERATED and name != "implausible_words" else warn
    return told(
        expected="answers that are text",
        seen=f"{name}: {len(samples)} of {total} answers, such as {excerpt(samples[0].text)}",
        fix=_ALL_REASONING if all(sample.reasoning and not sample.text for sample in samples) else _GARBAGE,
        evidence={"detector": name, "samples": len(samples), "of": total},
    )


def _deaf(run: ProbeRun) -> Iterator[Finding]:
    problems: dict[str, set[int]] = {}
    for sample in run.samples:
        if not sample.error:
            problems.setdefault(sample.text.strip(), set()).add(sample.problem)
    text, same = max(problems.items(), key=lambda item: len(item[1]))
    surely = wilson(len(same), len(set().union(*problems.values()))).low
    if len(same) > 1 and len(text) >= _LONG_CHARACTERS and surely > TOLERATED:
        told = fail if surely > DEAF else warn
        yield told(
            expected="answers that depend on the question",
            seen=f"{len(same)} problems got the same text: {excerpt(text)}",
            fix="look whether the prompt reaches the model: chat template, tokenizer, a cache or a stub in front",
            evidence={"problems": len(same), "low": surely},
        )


def _languages(run: ProbeRun) -> Iterator[Finding]:
    asked = [dominant_script(prompt(problem)) for problem in run.problems]
    said = [(sample, dominant_script(sample.text)) for sample in run.samples if not sample.error]
    other = [(sample, script) for sample, script in said if script and asked[sample.problem] not in {"", script}]
    if other and wilson(len(other), len(said)).low > TOLERATED:
        sample, script = other[0]
        yield warn(
            expected="answers in the script of the question",
            seen=f"{len(other)} of {len(said)} are in another ({script}), such as {excerpt(sample.text)}",
            fix="check that the tokenizer and the chat template are those of the weights",
        )


def _copies(run: ProbeRun) -> Iterator[Finding]:
    rows = [row for row in figures.grid(run).rows if len(row) > 1 and any(run.samples[place].text for place in row)]
    texts = [{run.samples[place].text for place in row} for row in rows]
    if run.settings.temperature >= 0.3 and len(rows) >= 10 and all(len(row) == 1 for row in texts):
        yield warn(
            expected=f"answers that vary at temperature {run.settings.temperature:g}",
            seen=f"all {len(rows[0])} answers to each of {len(rows)} problems are the same text",
            fix="see endpoint/sampling: a pinned seed or an ignored temperature makes pass@n equal avg@n",
        )


def _flips(run: ProbeRun) -> Iterator[Finding]:
    """At temperature 0 texts may differ (batches of another size round otherwise); answers should not."""
    rows = [row for row in figures.grid(run).rows if len(row) > 1]
    if run.settings.temperature > 0 or not rows:
        return
    flipped = [row for row in rows if len({run.grades[place].extracted for place in row}) > 1]
    interval = clopper_pearson(len(flipped), len(rows))
    if not flipped:
        yield note(
            f"no answer of {len(rows)} problems differs at temperature 0 (at most {100 * interval.high:.1f} %)"
        )
        return
    answers = " and ".join(sorted({run.grades[place].extracted or "none" for place in flipped[0]})[:3])
    told = fail if interval.low > TOLERATED else warn
    yield told(
        expected="the same final answer every time at temperature 0",
        seen=f"{len(flipped)} of {len(rows)} problems got different ones "
        f"({run.problems[run.samples[flipped[0][0]].problem].id}: {answers})",
        fix="look for a race between streams: try --max-num-seqs 1, --enforce-eager, --tensor-parallel-size 1",
        evidence={"flipped": len(flipped), "of": len(rows), "low": interval.low, "high": interval.high},
    )


def excerpt(text: str) -> str:
    """The beginning of an answer, quoted."""
    return repr(text[:80] + ("…" if len(text) > 80 else ""))
