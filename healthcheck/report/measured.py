"""A measurement on the page: figures, charts, and every sample with its answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from healthcheck.core.records import JsonValue
from healthcheck.report import charts, words
from healthcheck.report.charts import Chart
from healthcheck.report.excerpts import Excerpt, excerpts
from healthcheck.stages.probe.grading import Grade
from healthcheck.stages.probe.laboratory import adaptive_k
from healthcheck.stages.probe.problems import Problem
from healthcheck.stages.probe.records import THE_KIT, ProbeRun, Sample, count_of_problems, count_of_samples
from healthcheck.stages.probe.results import figures
from healthcheck.stages.probe.results.export import client_column, client_figures, client_reading
from healthcheck.stages.probe.run.layout import JOURNAL, PROBLEMS
from healthcheck.stages.probe.run.request import prompt_of
from healthcheck.stages.probe.statistics.counting import HARD_THRESHOLD
from healthcheck.stages.probe.statistics.estimates import THIS_BANK, Summary
from healthcheck.text.messages import joined, mapped, message, msg
from healthcheck.text.redact import without_secrets

TEXT_BUDGET_BYTES = 1_700_000
MOST_SAMPLES = 4000
NOTE_CHARACTERS = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One of the service's figures in percent: the client's, and the true one."""

    name: str
    client: str
    true: str
    interval: str
    misleads: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A rule that chooses one answer of a problem's samples, and its accuracy in percent."""

    name: str
    said: str
    true: str
    interval: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """A measurement in words, drawings and data.

    Attributes:
        said: the amount of data, and what is missing, one sentence each.
        data: the grid and its texts for the page's script.
    """

    said: tuple[str, ...]
    figures: tuple[Figure, ...]
    choices: tuple[Choice, ...]
    charts: tuple[Chart, ...]
    legend: tuple[tuple[str, str, int], ...]
    data: dict[str, JsonValue]


OUTCOMES = {
    "right": msg("right"),
    "loose": msg("right, but not marked as the prompt asks"),
    "wrong": msg("wrong"),
    "cut": msg("wrong, cut at max_tokens"),
    "failed": msg("the request failed"),
}
"""The result of a sample; the names are classes of page.css."""


def measured(run: ProbeRun) -> Measured:
    """The content of the page for a run."""
    outcomes = [outcome(sample, grade) for sample, grade in zip(run.samples, run.grades, strict=True)]
    legend = ((name, said, outcomes.count(name)) for name, said in OUTCOMES.items())
    return Measured(
        said=_said(run),
        figures=_figures(run),
        choices=_choices(run),
        charts=tuple(chart for chart in (*_accuracy(run), *_speed(run)) if chart),
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
        count_of_problems(len(run.problems)),
        len(run.samples),
        count_of_samples(run.planned),
    )
    said = [msg("{asked} in {seconds:.1f} s.", asked, run.seconds)]
    if run.stopped:
        said.append(
            msg("The run ended early: {without_secrets}.", words.plain(without_secrets(message(run.stopped))))
        )
    if lab := adaptive_k(run.settings):
        said.append(lab.told(run))
    elif len(chosen.flat) < len(run.samples):
        said.append(msg("Figures rest on the {flat} samples of complete rounds.", len(chosen.flat)))
    judges = sorted({grade.by for grade in run.grades if grade.by})
    said.append(
        msg(
            "Graded by {the_kit}{value}.", THE_KIT, joined("", (msg(" and {note}", _note(name)) for name in judges))
        )
    )
    if run.failed:
        said.append(msg("Failed requests, which count as wrong, as with the service: {failed}.", len(run.failed)))
    return tuple(said)


def _figures(run: ProbeRun) -> tuple[Figure, ...]:
    client = client_figures(run)
    summary = figures.overall(run)
    return tuple(
        Figure(
            name=name,
            client=text,
            true=f"{100 * estimate.value:.2f}",
            interval=msg("{low:.1f} to {high:.1f}", 100 * estimate.low, 100 * estimate.high),
            misleads=name in client and abs(client[name] / 100 - estimate.value) > 5e-5,
        )
        for name, text in client_column(run).items()
        if (estimate := summary.estimate(name))
    )


def _choices(run: ProbeRun) -> tuple[Choice, ...]:
    return tuple(
        Choice(
            name=estimate.name,
            said=said,
            true=f"{100 * estimate.value:.2f}",
            interval=msg("{low:.1f} to {high:.1f}", 100 * estimate.low, 100 * estimate.high),
        )
        for estimate, said in (figures.choices(run) if figures.grid(run).repeats > 1 else ())
    )


def _accuracy(run: ProbeRun) -> tuple[Chart | None, ...]:
    summary = figures.overall(run)
    return (_by_tier(run, summary), _by_k(summary)) if summary.samples else ()


def _by_tier(run: ProbeRun, summary: Summary) -> Chart:
    references = run.settings.references
    rows = [
        charts.Interval(
            label=part.tier,
            value=again.value,
            inner=(again.low, again.high),
            outer=(like.low, like.high),
            reference=references.get(part.tier),
        )
        for part in (summary, *figures.tiers(run))
        if (like := part.estimate(name := f"avg@{part.repeats}")) and (again := part.estimate(name, THIS_BANK))
    ]
    marks = msg(" A tall mark is the reference.") if references else ""
    dashed = "" if run.settings.threshold is None else msg(" The dashed line is the threshold.")
    return Chart(
        title=msg("Accuracy by tier"),
        drawing=charts.intervals(rows, msg("Accuracy by tier"), threshold=run.settings.threshold),
        caption=msg(
            "95 % intervals. Thick: what the same problems would give again. Thin: what other problems "
            "of this kind would give.{marks}{dashed}",
            marks,
            dashed,
        ),
    )


def _by_k(summary: Summary) -> Chart | None:
    mean = summary.correct / summary.samples
    points = [
        charts.ByK(k=k, value=e.value, low=e.low, high=e.high, bound=1 - (1 - mean) ** k)
        for k in range(1, summary.repeats + 1)
        if (e := summary.estimate(f"pass@{k}"))
    ]
    if len(points) < 2:
        return None
    return Chart(
        title=msg("pass@k over k"),
        drawing=charts.by_k(points, msg("pass@k for k from 1 to {k}", points[-1].k)),
        caption=msg(
            "Line: measured, with its 95 % interval. Dashed: 1 − (1 − p)^k, what independent samples of "
            "equal problems would give; the distance below it is what the samples of a problem share."
        ),
    )


def _speed(run: ProbeRun) -> tuple[Chart | None, ...]:
    answered = [sample for sample in run.samples if not sample.error]
    first = [(sample.order, sample.first_s) for sample in answered]
    speed = [
        (sample.order, sample.completion_tokens / sample.seconds)
        for sample in answered
        if sample.completion_tokens and sample.seconds > 0
    ]
    return (
        _over_run(
            first,
            msg("Time to first token"),
            msg("seconds"),
            msg("To the first byte of the stream; time in the server's queue is part of it."),
        ),
        _over_run(
            speed, msg("Tokens per second"), msg("tokens/s"), msg("Of each answer, from its request to its end.")
        ),
        _over_run(
            [(sample.order, float(sample.completion_tokens)) for sample in answered if sample.completion_tokens],
            msg("Length of the answers"),
            msg("tokens"),
            msg("As the server counts them, reasoning included."),
        ),
    )


def _over_run(values: Sequence[tuple[int, float]], title: str, unit: str, note: str) -> Chart | None:
    if len(values) < 2:
        return None
    return Chart(
        title=title,
        drawing=charts.over_run(values, msg("{title} over the run", title), unit),
        caption=msg(
            "One dot a sample, in the order in which they were sent; the line is the running median. {note}", note
        ),
    )


def _data(run: ProbeRun, outcomes: Sequence[str]) -> dict[str, JsonValue]:
    """Problems with their prompts, and the samples of each in the order of repeats."""
    repeats = max((sample.repeat for sample in run.samples), default=0) + 1
    shown = run.problems[: max(MOST_SAMPLES // repeats, 1)]
    places = [place for place, sample in enumerate(run.samples) if sample.problem < len(shown)]
    texts = excerpts(
        [
            *(prompt_of(problem, run.settings.request) for problem in shown),
            *(run.samples[place].text for place in places),
            *(run.samples[place].reasoning for place in places),
        ],
        TEXT_BUDGET_BYTES,
    )
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
    return {
        "p": sample.problem,
        "r": sample.repeat,
        "order": sample.order,
        "extracted": _note(grade.extracted),
        "by": grade.tier,
        "judge": _note(grade.by),
        "client": _client(run.problems[sample.problem], sample),
        "finish": _note(sample.finish_reason),
        "tokens": sample.completion_tokens,
        "first_s": round(sample.first_s, 3),
        "seconds": round(sample.seconds, 3),
        "error": _note(sample.error),
        "notes": [
            _note(text) for text in (*sample.faults[:3], *(msg("tried again: {e}", e) for e in sample.retried[:3]))
        ],
    }


def _client(problem: Problem, sample: Sample) -> str:
    """The client's reading of an answer and its grade; "" if its grader is not emulated."""
    reading = None if sample.error else client_reading(problem, sample)
    if reading is None:
        return ""
    read, score = reading
    return _note(msg("{read} ({s})", read, msg("right") if score > HARD_THRESHOLD else msg("wrong")))


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
