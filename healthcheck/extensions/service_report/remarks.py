"""Remarks on a report: failed requests, truncated reasoning, misread answers, impossible figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from healthcheck.core.check import fail, note, warn
from healthcheck.core.records import Finding
from healthcheck.extensions.service_report.lines import MAX_LINE_BYTES
from healthcheck.extensions.service_report.reading import Graded, Reading
from healthcheck.stages.probe.aisbench.client_results import printed
from healthcheck.stages.probe.results.answers import counted
from healthcheck.text.degenerate import flags
from healthcheck.text.messages import joined, msg, plural

MOSTLY_THINKING = 0.5
_AGAIN = msg("download the report again")
_LOOKED_AT = 400
"""Texts for the detectors, evenly spread, since each takes milliseconds."""
KNOWN = {
    "0ba9da": msg("the stock 4-shot GSM8K chat prompt, AISBench up to March 2026"),
    "f588a9": msg("the stock 4-shot GSM8K chat prompt, AISBench from April 2026"),
}
"""Versions of a task: the digest of its prompt."""
_LOOKS = {
    "constant": msg("are one character again and again"),
    "tail_loop": msg("end in a loop"),
    "compressible": msg("repeat themselves"),
    "bad_codepoints": msg("have characters that no one writes"),
    "mixed_scripts": msg("mix many scripts"),
    "implausible_words": msg("have no common words"),
}


def remarks(reading: Reading) -> tuple[Finding, ...]:
    """All remarks about a task that its summary does not show, the most severe first."""
    return (
        *_failures(reading),
        *_figures(reading),
        *_grouping(reading),
        *_reasoning(reading),
        *_texts(reading),
        *_grading(reading),
        *_repeats(reading),
        *_damage(reading),
        *_meaning(reading),
    )


def _failures(reading: Reading) -> Iterator[Finding]:
    task = reading.task
    reasons = counted(request.error for request in task.failed)
    if not task.answered:
        lost = bool(task.results) or any(text != "-" for text in task.printed.values())
        seen = msg("there are none{asked}", asked=": " + reasons if reasons else "")
        if "-" in task.printed.values():
            seen += msg("; the summary has “-”: every request failed")
        if lost:
            seen += msg(", though the report's own figures were made from some")
        look = msg(
            "look into logs/infer for the first error, and run `npu-adapter verify` on the repository"
        )
        expected = msg("predictions to recompute the figures from")
        yield fail(expected=expected, seen=seen, fix=_AGAIN if lost else look)
    if reading.grid and reading.unanswered:
        problems, repeats = len(reading.grid), reading.repeats
        hurt = [
            i
            for i, row in enumerate(reading.grid)
            if any(sample.answered is None for sample in row)
        ]
        expected = msg(
            "{total} predictions ({grid} problems × {repeats})",
            total=problems * repeats,
            grid=problems,
            repeats=repeats,
        )
        seen = msg(
            "{unanswered} are missing, of problems {some}; {counted_as}{reasons}",
            unanswered=reading.unanswered,
            some=_some(hurt),
            counted_as=_counted_as(reading),
            reasons=msg("; errors: ") + reasons if reasons else "",
        )
        fix = msg(
            "find out why the server did not answer; the column “answered requests only” is without them"
        )
        if task.damaged_lines or reading.problems_implied is None:
            fix = msg(
                "download the report again; until then trust the column “answered requests only”"
            )
        yield fail(expected=expected, seen=seen, fix=fix)
    elif reading.grid and task.failed:
        again = msg(
            "{failed} requests failed first and were answered when the run was resumed",
            failed=len(task.failed),
        )
        yield note(again)


def _counted_as(reading: Reading) -> str:
    """How the requests without a prediction were counted, as far as the report shows."""
    if lines := reading.task.damaged_lines:
        return msg(
            "{damaged_lines} lines of the file cannot be read; “true” counts missing ones as wrong",
            damaged_lines=lines,
        )
    if reading.problems_implied is None:
        return msg(
            "the printed figures were made with other predictions than these; “true” counts them as wrong"
        )
    return msg("AISBench counted them as wrong answers and shows no failures")


def _figures(reading: Reading) -> Iterator[Finding]:
    task = reading.task
    if reading.problems_implied is None:
        seen = msg(
            "printed {printed}, but its predictions give {recomputed}",
            printed=_row(task.printed),
            recomputed=_row(reading.emulated or {}),
        )
        fix = msg(
            "the results are older than the predictions, or files are missing: evaluate again (--mode eval)"
        )
        yield warn(expected=msg("figures that follow from the predictions"), seen=seen, fix=fix)
    elif more := reading.problems_implied:
        seen = plural(
            "the printed figures come out only with one more problem at the end, which was not answered",
            "the printed figures come out only with {n} more problems at the end, none of which was answered",
            more,
            n=more,
        )
        expected, fix = (
            msg("a prediction of every problem"),
            msg("find out why the server did not answer them"),
        )
        yield warn(expected=expected, seen=seen, fix=fix)
    written = printed(task.results or {})
    stale = {
        name for name in written.keys() & task.printed.keys() if written[name] != task.printed[name]
    }
    if stale:
        expected = msg("a summary of the results file")
        seen = msg(
            "{stale} differ between the newest summary and results", stale=", ".join(sorted(stale))
        )
        yield warn(
            expected=expected,
            seen=seen,
            fix=msg("trust the results file, or better the predictions"),
        )


def _grouping(reading: Reading) -> Iterator[Finding]:
    if reading.emulated is None or reading.truth is None or reading.repeats < 2:
        return
    n = reading.repeats
    members = _some([place % len(reading.grid) for place in range(n)])
    wrong = []
    for name in (f"pass@{n}", f"cons@{n}"):
        true = reading.truth.estimate(name)
        if true and f"{100 * true.value:.2f}" != reading.emulated[name]:
            wrong.append(
                msg(
                    "{name} {emulated} instead of {value:.2f}",
                    name=name,
                    emulated=reading.emulated[name],
                    value=100 * true.value,
                )
            )
    if wrong:
        seen = msg(
            "groups of samples of different problems, AISBench's own error (its first group has problems "
            "{some}): {wrong}",
            some=members,
            wrong=joined("; ", wrong),
        )
        fix = msg("use the true figures; average and accuracy are not affected")
        yield warn(expected=msg("samples grouped by problem"), seen=seen, fix=fix)


def _reasoning(reading: Reading) -> Iterator[Finding]:
    samples = reading.samples
    opened = [s for s in samples if s.answered and reasoning_cut_off(s.answered.text)]
    closed = [s for s in samples if s.answered and "</think>" in s.answered.text]
    untagged = [
        s for s in samples if s.answered and s.answered.text and "</think>" not in s.answered.text
    ]
    limit = reading.task.setting("max_out_len")
    where = f" (max_out_len={limit})" if limit is not None else ""
    cut = opened or (untagged if len(closed) > MOSTLY_THINKING * len(samples) else [])
    if cut:
        sure = "" if opened else "probably "
        expected = msg("an answer after the reasoning")
        seen = msg(
            "{sure}{cut} of {samples} answers are reasoning that was cut off{where}; AISBench graded the "
            "last number in it ({client} of them counted as right)",
            sure=sure,
            cut=len(cut),
            samples=len(samples),
            where=where,
            client=sum(s.client for s in cut),
        )
        fix = msg(
            "a shorter chain of thought, or more room for tokens: this is not the model's accuracy"
        )
        yield warn(expected=expected, seen=seen, fix=fix)


def reasoning_cut_off(text: str) -> bool:
    """Whether the text is unclosed reasoning: the client then grades the reasoning."""
    return "<think>" in text.rpartition("</think>")[2]


def _texts(reading: Reading) -> Iterator[Finding]:
    texts = [s.answered for s in reading.samples if s.answered]
    empty = sum(not answer.text.strip() for answer in texts)
    if empty:
        seen = msg(
            "{empty} of {texts} predictions are empty though they count as successes: an error event "
            "inside a 200 stream looks like this, and so does a first token that ends the answer",
            empty=empty,
            texts=len(texts),
        )
        fix = msg("look into the server's log; check the chat template and the end-of-text token")
        yield warn(expected=msg("a text from every answered request"), seen=seen, fix=fix)
    looked_at = texts[:: max(1, len(texts) // _LOOKED_AT)]
    broken = Counter(
        _LOOKS[flag] for answer in looked_at for flag in flags(answer.text) if flag in _LOOKS
    )
    if broken:
        most = broken.most_common()
        seen = joined(
            "; ",
            (
                msg(
                    "{count} of {looked_at} answers {name}",
                    count=n,
                    looked_at=len(looked_at),
                    name=name,
                )
                for name, n in most
            ),
        )
        fix = msg(
            "this is how a broken deployment looks: npu-adapter explain probe/degenerate says what to try"
        )
        yield warn(expected=msg("text that a person could have written"), seen=seen, fix=fix)


def _grading(reading: Reading) -> Iterator[Finding]:
    robbed = [s for s in reading.samples if s.kit is not None and s.kit.correct and not s.client]
    gifted = [s for s in reading.samples if s.kit is not None and not s.kit.correct and s.client]
    if reading.emulated is None:
        if reading.task.answered:
            yield _ungraded(reading)
        return
    if reading.task.without_gold:
        expected = msg("the right answer beside every prediction")
        seen = msg(
            "{without_gold} predictions have none (gold), and count as wrong",
            without_gold=reading.task.without_gold,
        )
        yield warn(expected=expected, seen=seen, fix=_AGAIN)
    if robbed:
        expected = msg("right answers counted as right")
        seen = msg(
            "{robbed} right answers were graded wrong: {misread}",
            robbed=len(robbed),
            misread=_misread(robbed),
        )
        fix = msg("tell the model to write the bare number last, without separators and units")
        if any(s.answered and s.answered.references for s in robbed):
            fix = msg(
                "the client compares references as they are written: nothing in the submission can change that"
            )
        yield warn(expected=expected, seen=seen, fix=fix)
    if gifted:
        yield note(
            msg(
                "{gifted} answers were graded right that do not seem so: {misread}",
                gifted=len(gifted),
                misread=_misread(gifted),
            )
        )


def _ungraded(reading: Reading) -> Finding:
    """Why nothing could be recomputed from the existing predictions."""
    if reading.task.without_gold == len(reading.task.answered):
        expected = msg("the right answer beside every prediction")
        seen = msg("no prediction has one (gold): nothing can be recomputed from them")
        return warn(expected=expected, seen=seen, fix=_AGAIN)
    grader = reading.task.evaluator or msg("unknown here")
    return note(
        msg(
            "the client's grader for this data set ({grader}) is not emulated: its figures stand unchecked",
            grader=grader,
        )
    )


def _repeats(reading: Reading) -> Iterator[Finding]:
    n = reading.repeats
    rows = [[s.answered.utf8 for s in row if s.answered] for row in reading.grid]
    rows = [row for row in rows if len(row) > 1]
    if n < 2 or not rows:
        return
    same = sum(len(set(row)) == 1 for row in rows)
    temperature = reading.task.setting("generation_kwargs", "temperature")
    why = (
        msg(" (temperature {temperature})", temperature=temperature)
        if temperature is not None
        else ""
    )
    if same > 0.9 * len(rows):
        seen = msg(
            "the same text in all samples on {same} of {rows} problems{why}: pass@{n} and cons@{n} then "
            "say no more than the average",
            same=same,
            rows=len(rows),
            why=why,
            n=n,
        )
        fix = msg(
            "nothing in the submission, if the temperature is the client's; otherwise look for a pinned seed"
        )
        yield warn(expected=msg("{n} independent samples of each problem", n=n), seen=seen, fix=fix)


def _damage(reading: Reading) -> Iterator[Finding]:
    task = reading.task
    if task.damaged_lines:
        seen = msg(
            "{damaged_lines} lines of predictions are damaged and were passed over: in "
            "predictions/{model}/{dataset}.jsonl, not JSON or longer than {max_line_bytes} bytes",
            damaged_lines=task.damaged_lines,
            model=task.model,
            dataset=task.dataset,
            max_line_bytes=MAX_LINE_BYTES,
        )
        yield warn(expected=msg("whole lines of JSON"), seen=seen, fix=_AGAIN)
    if task.doubled_lines:
        yield note(
            msg(
                "{doubled_lines} lines of predictions are there twice, and count once",
                doubled_lines=task.doubled_lines,
            )
        )
    surplus = len(task.answered) - len(reading.samples) if reading.grid else 0
    if surplus:
        yield note(
            msg(
                "{surplus} predictions are more than {repeats} of a problem: the first count",
                surplus=surplus,
                repeats=reading.repeats,
            )
        )
    if task.missing_folders and "-" not in task.printed.values():
        expected = msg("configs, predictions, results, summary")
        seen = msg(
            "missing or empty: {missing_folders}", missing_folders=", ".join(task.missing_folders)
        )
        yield warn(expected=expected, seen=seen, fix=_AGAIN)
    for text in task.passed_over[:5]:
        yield warn(
            expected=msg("plain files"), seen=msg("passed over {text}", text=text), fix=_AGAIN
        )
    if task.summaries > 1:
        yield note(
            msg(
                "{summaries} summaries: the run was resumed or evaluated again; the newest counts",
                summaries=task.summaries,
            )
        )


def _meaning(reading: Reading) -> Iterator[Finding]:
    if reading.task.version in KNOWN:
        yield note(
            msg(
                "version {version}: {known}",
                version=reading.task.version,
                known=KNOWN[reading.task.version],
            )
        )


def _misread(samples: Sequence[Graded]) -> str:
    shown = (
        (sample.answered.text.strip()[-60:], sample.client_read)
        for sample in samples[:3]
        if sample.answered
    )
    return joined(
        "; ",
        (
            msg("from {tail} it read {client_read}", tail=repr(tail), client_read=read)
            for tail, read in shown
        ),
    )


def _some(numbers: Sequence[int]) -> str:
    shown = ", ".join(map(str, numbers[:8]))
    return (
        shown
        if len(numbers) <= 8
        else msg("{shown} and {numbers} more", shown=shown, numbers=len(numbers) - 8)
    )


def _row(figures: Mapping[str, str]) -> str:
    return joined(
        ", ", (msg("{name} {value}", name=name, value=value) for name, value in figures.items())
    )
