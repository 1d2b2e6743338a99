"""probe/degenerate: the answers are text and not garbage."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from statistics import median

from healthcheck.core.check import Findings, NotApplicable, fail, note, unsettled, warn
from healthcheck.core.records import Finding, Level
from healthcheck.stages.probe.problems import prompt
from healthcheck.stages.probe.records import ProbeRun, Sample, check
from healthcheck.stages.probe.results import figures
from healthcheck.stages.probe.results.answers import excerpt, surely
from healthcheck.stages.probe.statistics.intervals import clopper_pearson, wilson
from healthcheck.text.degenerate import GARBAGE, REPAIRS, breaks_off, dominant_script, flags
from healthcheck.text.messages import joined, msg
from healthcheck.text.reasoning import final_text

GARBLED = 0.02
"""No model writes broken bytes or random scripts in so many answers; of others' texts 0.03 % look like them."""
TOLERATED, LEFT_OPEN, MOST = 0.05, 0.25, 0.5
"""A weak model sometimes loops, repeats itself or returns nothing: significantly above the second rate, the cause
may be the model or the deployment; significantly above the third, the service is unusable. For a model whose other
answers are mostly right, these are the first and the second.
"""
DEAF = 0.5
CUT_SHORT, CUT_OFTEN = 0.02, 0.05
"""The share of answers that visibly break off. Less than 1 % of complete texts do, at least a quarter of cut ones:
significantly above the first rate, answers are being cut; significantly above the second, too many are.
"""
MANY_COPIED_CHARACTERS = 100_000
"""In as many, a sure model, which takes another token once in some thousands, shows one in 99 of 100 runs."""
NO_PREFIX_CHARACTERS = 16
"""Different rounding in batches usually makes answers diverge late; temperature and races do so at once."""
_BEGUN_CHARACTERS = 20
_ENDS = frozenset(".!?。！？…)]}”’\"'`*|>:$%°0123456789")
"""Signs with which a sentence, a formula, a table or a result ends: an answer that goes on may add to it."""
_GOES_ON = re.compile(r" ?[a-z]{2,}[ ,]|[\u4e00-\u9fff]{2}")
_LONG_CHARACTERS, _NEARLY_ALL = 40, 0.98
"""A shorter text may be right for many problems, or be the only way to say it."""
_OWN_NUMBERS, _OWN_CHARACTERS = 3, 120
"""An answer of fewer numbers, such as "The answer is 12.", and fewer characters may be right for many problems."""
_STYLE = frozenset({"constant", "tail_loop", "compressible", "implausible_words"})
"""In a right answer these come from rulers of dashes, tables and round numbers."""
_MODELS_OWN = frozenset({"tail_loop", "compressible", "empty"})
_REFUSAL = re.compile(
    r"\b(?:sorry|apologi[sz]e|unable|cannot|can['’]?t|can not|not able|don['’]t know|do not know|not sure|"
    r"as an AI)\b|抱歉|对不起|對不起|无法|無法|不能|不知道",
    re.IGNORECASE,
)
_TEXT = msg("answers that are text")
_ALL_REASONING = msg(
    "their text is all in the reasoning field: remove --reasoning-parser, or choose the one that fits"
)


@check(
    "probe/degenerate",
    msg("Answers are text, not garbage"),
    why=msg(
        'A deployment that answers "!!!!" or loops starts, streams and stops like a healthy one.'
    ),
)
def degenerate(run: ProbeRun) -> Findings:
    r"""Searches every answer for signs of a broken deployment.

    empty: nothing after the reasoning. constant: one repeated character (token 0 from NaN logits looks like
    "!!!!"). tail_loop, compressible: a repeated passage. bad_codepoints: bytes that are not text. undecoded: token
    markers (▁, Ġ, <0x0A>), \u escapes or mojibake in place of text. mixed_scripts: random tokens of a multilingual
    vocabulary. implausible_words: no short words in a long text. Also: the same text for most problems; wrong
    answers that are right ones to other problems; answers in another script than the question; identical samples of
    every problem at a high temperature; different final answers to a problem at temperature 0; answers that break
    off in a sentence although finish_reason is "stop".

    Expected: no sign in more answers than a healthy server shows, judged by the lower end of the 95 % interval.
    Above 2 %, broken bytes, token markers, mixed scripts and one repeated character fail, because models do not
    produce them. Above 5 %, so do wrong answers with the very text of a right answer to another problem.
    Loops and empty answers also occur with weak models: they warn up to 25 %, are inconclusive up to 50 %, and fail
    above; where most answers without a sign are right, they are inconclusive above 5 % and fail above 25 %. If most
    answers have some sign, the check fails. Right answers and refusals do not count. At temperature 0 the batch of
    a request can change the end of its answer: a warning, unless most answers differ from the first words on. Wrong
    answers can be sound text: see probe/accuracy.

    An answer breaks off if it ends in a word such as "the", an operator, a comma or an open bracket, or if
    another answer to the problem goes on from there. Next to no complete text does, and about one in four of
    those that were cut. Above 2 % the check warns; above 5 % it fails, unless hardly any answer is right: the
    model may be too weak to write sentences. Requests with a stop string are not judged. If all samples of each
    problem are the same text at a temperature of 0.3 or more, the check warns, and fails where these texts are
    100,000 characters.

    Repair: try in this order, and keep the first that helps: --dtype bfloat16 (float16 can overflow), no
    quantisation, --enforce-eager (no graph capture), --tensor-parallel-size 1 (no communication between NPUs). For
    empty answers, answers that ignore the question and those in another script, first check that chat template and
    tokenizer belong to the weights. For words of many scripts try the weights in transformers first: untrained ones
    or those of a wrong revision, sound like that. If all text is in the reasoning field, remove --reasoning-parser.
    If answers differ at temperature 0, first try --max-num-seqs 1.

    Example:
    ```text an answer
    !!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!
    ```

    Use instead:

    ```text an answer
    Seven boxes hold six pens each, so there are 7 * 6 = 42 pens. The answer is 42.
    ```
    """
    if not run.answered:
        raise NotApplicable(msg("no request was answered"))
    seen: dict[str, list[Sample]] = {}
    for sample, grade in run.answered:
        for name in flags(sample.text, cut=sample.finish_reason == "length"):
            if not (name in _STYLE and grade.correct):
                seen.setdefault(name, []).append(sample)
    yield from _signs(run, seen)
    yield from _cut_short(run)
    yield from _deaf(run)
    yield from _swapped(run)
    yield from _languages(run)
    yield from _copies(run)
    yield from _flips(run)


def _signs(run: ProbeRun, signs: dict[str, list[Sample]]) -> Iterator[Finding]:
    answered = [sample for sample, _ in run.answered]
    shown = {sample.order for samples in signs.values() for sample in samples}
    others = [grade.correct for sample, grade in run.answered if sample.order not in shown]
    limits = (TOLERATED, LEFT_OPEN) if sum(others) > MOST * len(others) else (LEFT_OPEN, MOST)
    found = [
        _sign(name, samples, answered, limits if name in _MODELS_OWN else (GARBLED, GARBLED))
        for name, samples in signs.items()
    ]
    yield from found
    garbage = {
        sample.order: sample
        for name, samples in signs.items()
        for sample in samples
        if name != "implausible_words" and not _client_reads(sample)
    }
    if surely(garbage.values(), answered) > MOST and not any(
        finding.level is Level.FAIL for finding in found
    ):
        seen = msg(
            "{garbage} of {answered} answers have one of these signs, such as {text}",
            garbage=len(garbage),
            answered=len(answered),
            text=excerpt(next(iter(garbage.values())).text),
        )
        yield fail(expected=_TEXT, seen=seen, fix=GARBAGE)


def _sign(
    name: str, samples: list[Sample], answered: Sequence[Sample], limits: tuple[float, float]
) -> Finding:
    """A finding about one sign, which above the two limits is inconclusive and fails."""
    low = surely(samples, answered)
    all_reasoning = all(map(_client_reads, samples))
    told: Callable[..., Finding] = warn
    if name != "implausible_words" and not all_reasoning:
        told = fail if low > limits[1] else unsettled if low > limits[0] else warn
    seen = msg(
        "{name}: {samples} of {answered} answers, such as {text}",
        name=name,
        samples=len(samples),
        answered=len(answered),
        text=excerpt(samples[0].text),
    )
    repair = _ALL_REASONING if all_reasoning else REPAIRS.get(name, GARBAGE)
    return told(expected=_TEXT, seen=seen, fix=repair)


def _client_reads(sample: Sample) -> bool:
    """Whether the answer is all in the reasoning field, which the evaluation client reads if the text is empty."""
    return bool(sample.reasoning) and not sample.text


def _cut_short(run: ProbeRun) -> Iterator[Finding]:
    """Answers that break off. A right answer, or one that states a result, counts as complete."""
    if run.settings.request.stop or "stop" in run.settings.request.extra_body:
        return
    answered = run.answered
    texts: dict[int, set[str]] = {}
    for sample, _ in answered:
        texts.setdefault(sample.problem, set()).add(sample.text.rstrip())
    cut = [
        sample
        for sample, grade in answered
        if sample.finish_reason == "stop" and not grade.correct and grade.form_missed
        if breaks_off(sample.text) or _is_begun(sample.text, texts[sample.problem])
    ]
    low = surely(cut, [sample for sample, _ in answered])
    if low <= CUT_SHORT:
        return
    able = sum(grade.correct for _, grade in answered) >= LEFT_OPEN * len(cut)
    told = fail if low > CUT_OFTEN and able else warn
    expected = msg("answers that end where a sentence does")
    seen = msg(
        "{cut} of {answered} answers break off in a sentence, although finish_reason is “stop”, and "
        "only about one break in four shows; one ends in {text}",
        cut=len(cut),
        answered=len(answered),
        text=excerpt(cut[0].text.rstrip()[-60:]),
    )
    fix = msg(
        "compare eos_token_id and stop strings in generation_config.json with the end-of-turn token of the "
        "chat template; then look for what loses the end of a stream: a proxy, a plugin, speculative decoding"
    )
    yield told(expected=expected, seen=seen, fix=fix)


def _is_begun(text: str, others: Collection[str]) -> bool:
    """Whether another answer to the problem begins with this one and goes on with a word in the same sentence."""
    begun = text.rstrip()
    if len(begun) < _BEGUN_CHARACTERS or begun[-1] in _ENDS:
        return False
    return any(other.startswith(begun) and _GOES_ON.match(other, len(begun)) for other in others)


def _deaf(run: ProbeRun) -> Iterator[Finding]:
    problems: dict[str, set[int]] = {}
    for sample, grade in run.answered:
        if not grade.correct:
            problems.setdefault(sample.text.strip(), set()).add(sample.problem)
    asked = {sample.problem for sample, _ in run.answered}
    text, same = max(problems.items(), key=lambda item: len(item[1]), default=("", set[int]()))
    low = wilson(len(same), len(asked)).low
    if len(same) > 1 and len(text) >= _LONG_CHARACTERS and low > TOLERATED:
        own_way = bool(_REFUSAL.search(text)) or any(
            run.problems[problem].letters for problem in same
        )
        told = fail if low > DEAF and not own_way else warn
        expected = msg("answers that depend on the question")
        seen = msg("{same} problems got the same text: {text}", same=len(same), text=excerpt(text))
        fix = msg(
            "look whether the prompt reaches the model: chat template, tokenizer, a cache or a stub in front"
        )
        yield told(expected=expected, seen=seen, fix=fix)


def _swapped(run: ProbeRun) -> Iterator[Finding]:
    """Wrong answers whose text is a right answer to another problem: streams or prompts that were mixed up."""
    graded = run.answered
    right: dict[str, set[int]] = {}
    for sample, grade in graded:
        if (
            grade.correct
            and _is_of_its_own(sample.text)
            and not run.problems[sample.problem].letters
        ):
            right.setdefault(sample.text, set()).add(sample.problem)
    answered = [sample for sample, _ in graded]
    swapped = [
        sample
        for sample, grade in graded
        if not grade.correct and len(right.get(sample.text, ())) == 1
    ]
    if surely(swapped, answered) > TOLERATED:
        other = run.problems[min(right[swapped[0].text])].id
        seen = msg(
            "{swapped} of {answered} are word for word right answers to other problems; {id} got that of {other}: "
            "{text}",
            swapped=len(swapped),
            answered=len(answered),
            id=run.problems[swapped[0].problem].id,
            other=other,
            text=excerpt(swapped[0].text),
        )
        fix = msg(
            "look for what mixes requests up where several run: a shared buffer or cache in front of the engine or "
            "in it; try --max-num-seqs 1, then without prefix caching"
        )
        yield fail(expected=msg("answers to the problem that was asked"), seen=seen, fix=fix)


def _is_of_its_own(text: str) -> bool:
    """Whether a text fits one problem alone."""
    return len(set(re.findall(r"\d+", text))) >= _OWN_NUMBERS or len(text) >= _OWN_CHARACTERS


def _languages(run: ProbeRun) -> Iterator[Finding]:
    """Answers in another language. A system message or a template may request one, so such runs are skipped."""
    if run.settings.request.system or run.settings.request.prompt:
        return
    asked = [
        "" if problem.kind.runs else dominant_script(prompt(problem)) for problem in run.problems
    ]
    answered = [sample for sample in run.samples if not sample.error]
    said = [(sample, dominant_script(final_text(sample.text))) for sample in answered]
    other = [
        (sample, script)
        for sample, script in said
        if script and asked[sample.problem] not in {"", script}
    ]
    if other and surely([sample for sample, _ in other], answered) > TOLERATED:
        sample, script = other[0]
        seen = msg(
            "{other} of {said} are in another ({script}), such as {text}",
            other=len(other),
            said=len(said),
            script=script,
            text=excerpt(sample.text),
        )
        fix = msg(
            "if the model knows the question's language, check that the tokenizer and the chat template are "
            "those of the weights"
        )
        yield warn(expected=msg("answers in the script of the question"), seen=seen, fix=fix)


def _copies(run: ProbeRun) -> Iterator[Finding]:
    """Identical samples. Short answers may be alike by nature, and with top_k = 1 all are."""
    if run.settings.request.top_k == 1:
        return
    rows = [row for row in figures.grid(run).rows if len(row) > 1]
    texts = [[run.samples[place].text for place in row] for row in rows]
    long = [text for row in texts if max(map(len, row)) >= _LONG_CHARACTERS for text in row[1:]]
    same = sum(len(set(row)) == 1 for row in texts)
    if run.settings.temperature >= 0.3 and len(long) >= 10 and same >= _NEARLY_ALL * len(texts):
        expected = msg(
            "answers that vary at temperature {temperature:g}", temperature=run.settings.temperature
        )
        seen = msg(
            "all {each} answers to {same} of {problems} problems are the same text",
            each=len(rows[0]),
            same=same,
            problems=len(rows),
        )
        fix = msg(
            "see endpoint/sampling: a pinned seed, an ignored temperature, top_k 1 in generation_config.json or a "
            "cache of answers makes pass@n equal avg@n"
        )
        asked_for = run.settings.request.top_p is not None or run.settings.request.extra_body
        many = same == len(texts) and sum(map(len, long)) >= MANY_COPIED_CHARACTERS
        told = fail if many and not asked_for else warn
        yield told(expected=expected, seen=seen, fix=fix)


def _flips(run: ProbeRun) -> Iterator[Finding]:
    """Samples that differ at temperature 0: batches of other sizes round differently, which decides close calls."""
    rows = [row for row in figures.grid(run).rows if len(row) > 1]
    if run.settings.temperature > 0 or not rows:
        return
    flipped = [row for row in rows if len({run.grades[place].extracted for place in row}) > 1]
    interval = clopper_pearson(len(flipped), len(rows))
    if not flipped:
        yield note(
            msg(
                "no answer of {rows} problems differs at temperature 0 (at most {high:.1f} %)",
                rows=len(rows),
                high=100 * interval.high,
            )
        )
        return
    answers = joined(
        " and ", sorted({run.grades[place].extracted or msg("none") for place in flipped[0]})[:3]
    )
    alike = median(_common_start([run.samples[place] for place in row]) for row in flipped)
    told = fail if interval.low > MOST and alike < NO_PREFIX_CHARACTERS else warn
    expected = msg("the same final answer every time at temperature 0")
    seen = msg(
        "{flipped} of {rows} problems got different ones ({id}: {answers}); the texts are alike in "
        "their first {alike:g} characters",
        flipped=len(flipped),
        rows=len(rows),
        id=run.problems[run.samples[flipped[0][0]].problem].id,
        answers=answers,
        alike=alike,
    )
    fix = msg(
        "if it matters, ask for batch-invariant kernels; where texts part at once, look for a race between "
        "streams: try --max-num-seqs 1, --enforce-eager, --tensor-parallel-size 1"
    )
    yield told(expected=expected, seen=seen, fix=fix)


def _common_start(samples: Sequence[Sample]) -> int:
    texts = [sample.reasoning + sample.text for sample in samples]
    parted = (at for at, signs in enumerate(zip(*texts, strict=False)) if len(set(signs)) > 1)
    return next(parted, min(map(len, texts)))
