"""Evidence from the answers of a run, for the checks: shares, answers cut while reasoning, endless answers."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from healthcheck.stages.probe.records import ProbeRun, Sample
from healthcheck.stages.probe.statistics.intervals import by_problem
from healthcheck.text.degenerate import flags
from healthcheck.text.messages import joined, msg
from healthcheck.text.reasoning import final_text
from healthcheck.text.redact import beginning

PAGES_CHARACTERS = 4000
"""Longer than any answer to a school problem without reasoning; nothing is known about other data sets."""
_DELIBERATES = 3
_DELIBERATION = re.compile(
    r"\b(?:wait|hmm+|let me|let's|okay|alternatively|I need to|I should|I think|maybe|actually|double[- ]check)\b"
    r"|等等|等一下|嗯|让我|首先，?我|我需要|我应该|或者|另外|再检查|重新",
    re.IGNORECASE,
)
_TURN_ENDED = re.compile(
    r"<\|(?:im_end|im_start|eot_id|end|endoftext|end_of_text|user|assistant|start_header_id|eom_id|return)\|>"
    r"|</s>|<end_of_turn>|<start_of_turn>|\[/?INST\]|<｜[^｜\n]{3,40}｜>"
    r"|\n[^\S\n]*(?:User|Human|Assistant|用户|助手)\s*[:：]"
)


def excerpt(text: str) -> str:
    """The beginning of an answer, quoted."""
    return repr(beginning(text, 80) + ("…" if len(text) > 80 else ""))


def counted(texts: Iterable[str]) -> str:
    """The most frequent texts with their counts."""
    common = Counter(text[:200] for text in texts).most_common(3)
    return joined("; ", (msg("{count} × {text}", count=count, text=text) for text, count in common))


def surely(shown: Iterable[Sample], answered: Iterable[Sample]) -> float:
    """The lower end of the 95 % interval for the share of the answers; the unit is the problem."""
    asked = Counter(sample.problem for sample in answered)
    found = Counter(sample.problem for sample in shown)
    return by_problem([found[problem] / times for problem, times in asked.items()]).low


def reasoning(run: ProbeRun, cut: Sequence[Sample]) -> list[Sample]:
    """The cut answers that were cut while reasoning.

    A template may open `<think>` in the prompt: then only the closing tag shows, in other answers of the run or
    nowhere, and a deliberating text counts as reasoning. Looping text does not.
    """
    closed = any(
        "</think>" in sample.text and "<think>" not in sample.text for sample in run.samples
    )
    return [sample for sample in cut if _thinks(sample, closed=closed) and not _loops(sample)]


def endless(run: ProbeRun, sample: Sample) -> bool:
    """Whether a cut answer shows that the model does not stop."""
    answer = sample.text.rpartition("</think>")[2].partition("<think>")[0].strip()
    long = not run.settings.dataset and len(answer) >= PAGES_CHARACTERS
    return (
        long
        or _loops(sample)
        or bool(_TURN_ENDED.search(answer))
        or len(final_text(answer)) < len(answer)
    )


def _thinks(sample: Sample, *, closed: bool) -> bool:
    if sample.reasoning or "<think>" in sample.text:
        return "</think>" not in sample.text and not sample.text.partition("<think>")[0].strip()
    return "</think>" not in sample.text and (
        closed or len(_DELIBERATION.findall(sample.text)) >= _DELIBERATES
    )


def _loops(sample: Sample) -> bool:
    return not {"constant", "tail_loop", "compressible"}.isdisjoint(
        flags(sample.text or sample.reasoning, cut=True)
    )
