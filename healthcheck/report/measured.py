"""A measurement on the page: figures, and every sample with its answer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from healthcheck.core.records import JsonValue
from healthcheck.report import words
from healthcheck.report.excerpts import Excerpt, excerpts
from healthcheck.stages.probe.grading import Grade
from healthcheck.stages.probe.grading.grade import FALLBACK, FORM
from healthcheck.stages.probe.problems import Problem
from healthcheck.stages.probe.records import (
    THE_KIT,
    ProbeRun,
    Sample,
    count_of_problems,
    count_of_samples,
)
from healthcheck.stages.probe.results import figures, strata
from healthcheck.stages.probe.results.export import client_column, client_figures, client_reading
from healthcheck.stages.probe.run.layout import JOURNAL, PROBLEMS
from healthcheck.stages.probe.run.request import prompt_of
from healthcheck.stages.probe.statistics.estimates import LIKE_THESE, THIS_BANK, Estimate, Summary
from healthcheck.text.messages import joined, mapped, message, msg
from healthcheck.text.redact import without_secrets

TEXT_BUDGET_BYTES = 1_700_000
MOST_SAMPLES = 4000
NOTE_CHARACTERS = 300
_EXAMPLES = 3
_END_CHARACTERS = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One of the service's figures: the client's in percent, and the true one."""

    client: str
    true: Estimate
    misleads: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Tier:
    """A tier or a stratum: `inner` for the same problems again, `outer` for other problems like these."""

    label: str
    inner: Estimate
    outer: Estimate
    reference: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """A measurement in words and data.

    Attributes:
        said: the amount of data, and what is missing, one sentence each.
        form_missed: the share of samples that miss the form of the prompt; "" if none does.
        missed: the ends of some answers that miss it, each with its problem.
        strata: further divisions of the problems, by name.
        choices: figures of rules that choose one answer of a problem's samples, and the choice in words.
        legend: each result of a sample that occurs: its name, its words, its count.
        data: the grid and its texts for the page's script.
    """

    said: tuple[str, ...]
    form_missed: str
    missed: tuple[str, ...]
    figures: tuple[Figure, ...]
    choices: tuple[tuple[Estimate, str], ...]
    tiers: tuple[Tier, ...]
    strata: tuple[tuple[str, tuple[Tier, ...]], ...]
    threshold: float | None
    legend: tuple[tuple[str, str, int], ...]
    data: dict[str, JsonValue]


OUTCOMES = {
    "right": msg("right"),
    "loose": msg("right, but not in the form that the prompt asks for"),
    "wrong": msg("wrong"),
    "cut": msg("wrong, cut at max_tokens"),
    "failed": msg("the request failed"),
}
"""The result of a sample; the names are classes of page.css."""
_FOUND_IN = {
    FORM: msg("the form that the prompt asks for"),
    FALLBACK: msg("the last number, letter, formula or line"),
}


def measured(run: ProbeRun) -> Measured:
    """The content of the page for a run."""
    outcomes = [
        outcome(sample, grade) for sample, grade in zip(run.samples, run.grades, strict=True)
    ]
    legend = ((name, said, outcomes.count(name)) for name, said in OUTCOMES.items())
    return Measured(
        said=_said(run),
        form_missed=_form_missed(run),
        missed=tuple(_missed(run)),
        figures=tuple(_figures(run)),
        choices=figures.choices(run) if figures.grid(run).repeats > 1 else (),
        tiers=tuple(_rows(run, (figures.overall(run), *figures.tiers(run)))),
        strata=tuple(
            (name, tuple(_rows(run, parts))) for name, parts in strata.strata(run).items()
        ),
        threshold=run.settings.threshold,
        legend=tuple(entry for entry in legend if entry[2]),
        data=_data(run, outcomes),
    )


def outcome(sample: Sample, grade: Grade) -> str:
    """The result of a sample, a key of OUTCOMES."""
    if sample.error:
        return "failed"
    if grade.correct:
        return "right" if grade.strict else "loose"
    return "cut" if sample.finish_reason == "length" else "wrong"


def _said(run: ProbeRun) -> tuple[str, ...]:
    chosen = figures.grid(run)
    asked = msg(
        "{problems}, {taken} of {planned}",
        problems=count_of_problems(len(run.problems)),
        taken=len(run.samples),
        planned=count_of_samples(run.planned),
    )
    said = [msg("{asked} in {seconds:.1f} s.", asked=asked, seconds=run.seconds)]
    if run.stopped:
        why = words.plain(without_secrets(message(run.stopped)))
        said.append(msg("The run ended early: {address}.", address=why))
    if len(chosen.flat) < len(run.samples):
        said.append(
            msg("Figures rest on the {flat} samples of complete rounds.", flat=len(chosen.flat))
        )
    judges = sorted({grade.by for grade in run.grades if grade.by})
    said.append(
        msg(
            "Graded by {the_kit}{value}.",
            the_kit=THE_KIT,
            value=joined("", (msg(" and {note}", note=_note(name)) for name in judges)),
        )
    )
    if run.failed:
        said.append(
            msg(
                "Failed requests, which count as wrong, as with the service: {failed}.",
                failed=len(run.failed),
            )
        )
    return tuple(said)


def _form_missed(run: ProbeRun) -> str:
    places = figures.missing_form(run)
    if not places:
        return ""
    strict = figures.accuracy_strict(run, figures.grid(run)) if figures.grid(run).rows else None
    share = msg(
        "Form missed in {share:.1f} % of the samples ({missed} of {samples}).",
        share=100 * len(places) / len(run.samples),
        missed=len(places),
        samples=len(run.samples),
    )
    if strict is None:
        return share
    return joined(
        " ",
        (
            share,
            msg("Without them, the accuracy is {strict:.2f} %.", strict=100 * strict.value),
        ),
    )


def _missed(run: ProbeRun) -> Iterator[str]:
    """The ends of the first answers that miss the form, of different problems if possible."""
    by_problem = {
        run.samples[place].problem: place for place in reversed(figures.missing_form(run))
    }
    for place in sorted(by_problem.values())[:_EXAMPLES]:
        sample, grade = run.samples[place], run.grades[place]
        text = without_secrets(sample.text).rstrip()
        end = ("…" if len(text) > _END_CHARACTERS else "") + text[-_END_CHARACTERS:]
        yield msg(
            "{problem} ({result}): {end}",
            problem=words.plain(run.problems[sample.problem].id),
            result=OUTCOMES[outcome(sample, grade)],
            end=words.plain(end),
        )


def _figures(run: ProbeRun) -> Iterator[Figure]:
    client, summary = client_figures(run), figures.overall(run)
    for name, text in client_column(run).items():
        if true := summary.estimate(name):
            misleads = name in client and abs(client[name] / 100 - true.value) > 5e-5
            yield Figure(client=text, true=true, misleads=misleads)


def _rows(run: ProbeRun, parts: Iterable[Summary]) -> Iterator[Tier]:
    for part in parts:
        outer, inner = (part.estimate(f"avg@{part.repeats}", of) for of in (LIKE_THESE, THIS_BANK))
        if outer and inner:
            reference = run.settings.references.get(part.tier)
            yield Tier(label=part.tier, inner=inner, outer=outer, reference=reference)


def _data(run: ProbeRun, outcomes: Sequence[str]) -> dict[str, JsonValue]:
    """Problems with their prompts, and the samples of each in the order of repeats."""
    repeats = max((sample.repeat for sample in run.samples), default=0) + 1
    shown = run.problems[: max(MOST_SAMPLES // repeats, 1)]
    places = [place for place, sample in enumerate(run.samples) if sample.problem < len(shown)]
    asked = [prompt_of(problem, run.settings.request) for problem in shown]
    said = [run.samples[place].text for place in places]
    thought = [run.samples[place].reasoning for place in places]
    texts = excerpts([*asked, *said, *thought], TEXT_BUDGET_BYTES)
    prompts, rest = texts[: len(shown)], texts[len(shown) :]
    answers, reasonings = rest[: len(places)], rest[len(places) :]
    problems = [_problem(problem, text) for problem, text in zip(shown, prompts, strict=True)]
    samples = [
        {
            "o": outcomes[place],
            **_sample(run, place),
            **_answer("text", answer),
            **_answer("reasoning", reasoning),
        }
        for place, answer, reasoning in zip(places, answers, reasonings, strict=True)
    ]
    return {
        "repeats": repeats,
        "outcomes": {**OUTCOMES},
        "problems": list[JsonValue](problems),
        "samples": list[JsonValue](samples),
        "left_out": len(run.problems) - len(shown),
        "journal": JOURNAL,
        "bank": PROBLEMS,
    }


def _problem(problem: Problem, text: Excerpt) -> dict[str, JsonValue]:
    gold_texts = dict.fromkeys((problem.answer, *problem.references))
    return {
        "id": _note(problem.id),
        "tier": _note(problem.tier),
        "gold": _note(" | ".join(gold_texts)),
        "pictures": len(problem.images),
        **_answer("text", text),
    }


def _sample(run: ProbeRun, place: int) -> dict[str, JsonValue]:
    sample, grade = run.samples[place], run.grades[place]
    again = (msg("tried again: {e}", e=error) for error in sample.retried[:3])
    return {
        "p": sample.problem,
        "r": sample.repeat,
        "order": sample.order,
        "extracted": _note(grade.extracted),
        "by": _FOUND_IN.get(grade.tier, ""),
        "judge": _note(grade.by),
        "client": _client(run.problems[sample.problem], sample),
        "finish": _note(sample.finish_reason),
        "tokens": sample.completion_tokens,
        "first_s": round(sample.first_s, 3),
        "seconds": round(sample.seconds, 3),
        "error": _note(sample.error),
        "notes": list(map(_note, (*sample.faults[:3], *again))),
    }


def _client(problem: Problem, sample: Sample) -> str:
    """The client's reading of an answer and its grade; "" if its grader is not emulated."""
    reading = None if sample.error else client_reading(problem, sample)
    if reading is None:
        return ""
    read, right = reading
    return _note(msg("{read} ({s})", read=read, s=msg("right") if right else msg("wrong")))


def _answer(name: str, excerpt: Excerpt) -> dict[str, JsonValue]:
    if not excerpt.whole:
        return {}
    return {name: excerpt.text, **({f"{name}_whole": excerpt.whole} if excerpt.cut else {})}


def _note(text: str) -> str:
    """A short text; secrets are removed before cutting, since the beginning of a secret has no shape."""
    text = without_secrets(mapped(text, lambda quoted: quoted[: 4 * NOTE_CHARACTERS]))
    return words.plain(mapped(text, _cut))


def _cut(text: str) -> str:
    return text if len(text) <= NOTE_CHARACTERS else text[:NOTE_CHARACTERS] + "…"
