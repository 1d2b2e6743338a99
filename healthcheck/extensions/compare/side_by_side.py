"""compare's page: two runs side by side, first their different environments, then every problem in pairs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from markupsafe import Markup

from healthcheck.errors import KitError
from healthcheck.extensions.compare.two_runs import Flip, TwoRuns
from healthcheck.report import labels, page, words
from healthcheck.report.excerpts import excerpts
from healthcheck.report.measured import OUTCOMES, outcome
from healthcheck.stages.probe.records import ProbeRun, Sample
from healthcheck.system import json_text
from healthcheck.system.files import read_bounded
from healthcheck.text.language import ENGLISH, Translation
from healthcheck.text.messages import msg
from healthcheck.text.redact import without_secrets

REPORT, REPORT_BYTES = "report.json", 32 * 1024**2
ENVIRONMENT = ("server_command", "versions", "server", "weights_fingerprint", "commit", "kit", "python", "system")
SETTINGS = ("model", "url", "samples", "concurrency", "seed", "temperature", "max_tokens")
UNKNOWN = msg("unknown")
MOST_PROBLEMS, MOST_FLIPS, TEXT_BUDGET_BYTES, MOST_VALUE = 2000, 200, 800_000, 600


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """One problem: the outcomes of its samples in both runs, classes of page.css, and both in words."""

    problem: str
    tier: str
    first: tuple[str, ...]
    second: tuple[str, ...]
    said: str


def render(
    result: TwoRuns,
    runs: tuple[ProbeRun, ProbeRun],
    verdict: str,
    rows: Sequence[Sequence[str]],
    translation: Translation = ENGLISH,
) -> bytes:
    """The page as UTF-8 HTML; `rows` are the table of the tiers, with its heading first."""
    style = page.part("page.css") + page.part("compare.css", __package__)
    first, second = map(_environment, runs)
    names = dict.fromkeys((*first, *second))
    differences = [(name, first.get(name, UNKNOWN), second.get(name, UNKNOWN)) for name in names]
    pairs = [(tier, tuple(group)) for tier, group in groupby(_pairs(runs), key=lambda pair: pair.tier)]
    template = page.environment(translation).from_string(page.part("compare.html.j2", __package__))
    text = template.render(
        style=Markup(style),  # noqa: S704 - the kit's own files
        policy=f"default-src 'none'; style-src '{page.digest(style)}'; img-src data:; base-uri 'none'; "
        "form-action 'none'",
        verdict=words.plain(verdict),
        shift=result.comparisons[0].shift.value,
        runs=[words.plain(without_secrets(described)) for described in result.runs],
        differences=[each for each in differences if each[1] != each[2]],
        same=sum(before == now for _, before, now in differences),
        heading=rows[0],
        rows=rows[1:],
        caveats=[words.plain(without_secrets(caveat)) for caveat in result.caveats],
        pairs=pairs,
        legend=OUTCOMES,
        flips=tuple(_flips(result.flips[:MOST_FLIPS])),
        more=max(len(result.flips) - MOST_FLIPS, 0),
        left_out=max(len(runs[0].problems) - MOST_PROBLEMS, 0),
    )
    return text.encode()


def _environment(run: ProbeRun) -> dict[str, str]:
    """The software and settings of a run, by name: from its report and its probe settings."""
    try:
        read = json_text.load(read_bounded(run.folder / REPORT, REPORT_BYTES))
    except (KitError, OSError):
        read = None
    provenance = read.get("provenance") if isinstance(read, dict) else None
    found = provenance if isinstance(provenance, dict) else {}
    told = {name: getattr(run.settings, name, None) for name in SETTINGS}
    shown = labels.labelled({**{name: found.get(name) for name in ENVIRONMENT}, "probe": told})
    return {label: words.plain(without_secrets(labels.text(value)))[:MOST_VALUE] for label, value in shown}


def _pairs(runs: tuple[ProbeRun, ProbeRun]) -> list[Pair]:
    """The problems by tier, the largest losses of the second run first."""
    first, second = map(_outcomes, runs)
    shown = []
    for place, problem in enumerate(runs[0].problems[:MOST_PROBLEMS]):
        if place in first or place in second:
            before, now = first.get(place, ()), second.get(place, ())
            name = words.plain(problem.id)[:80]
            said = msg("{id}: {share} right in A, {share2} in B", name, _share(before), _share(now))
            tier = words.plain(problem.tier)[:40]
            shown.append(Pair(problem=name, tier=tier, first=before, second=now, said=said))
    tiers = list(dict.fromkeys(pair.tier for pair in shown))
    return sorted(shown, key=lambda pair: (tiers.index(pair.tier), _right(pair.second) - _right(pair.first)))


def _outcomes(run: ProbeRun) -> dict[int, tuple[str, ...]]:
    found: dict[int, list[tuple[Sample, str]]] = {}
    for sample, grade in zip(run.samples, run.grades, strict=True):
        found.setdefault(sample.problem, []).append((sample, outcome(sample, grade)))
    ordered = {problem: sorted(each, key=lambda pair: pair[0].repeat) for problem, each in found.items()}
    return {problem: tuple(name for _, name in each) for problem, each in ordered.items()}


def _right(outcomes: tuple[str, ...]) -> float:
    return sum(each in {"right", "loose"} for each in outcomes) / len(outcomes) if outcomes else 0.0


def _share(outcomes: tuple[str, ...]) -> str:
    return msg("{value} of {outcomes}", sum(each in {"right", "loose"} for each in outcomes), len(outcomes))


def _flips(flips: Sequence[Flip]) -> Iterator[Flip]:
    """The flips for the page: plain text without secrets, cut if it is long."""
    long = [text for flip in flips for text in (flip.question, flip.first_answer, flip.second_answer)]
    texts = excerpts(long, TEXT_BUDGET_BYTES)
    for place, flip in enumerate(flips):
        question, first, second = (
            each.text + msg("… (cut here: {whole} characters in all)", each.whole) if each.cut else each.text
            for each in texts[3 * place : 3 * place + 3]
        )
        yield replace(
            flip,
            problem=words.plain(flip.problem)[:80],
            expected=words.plain(without_secrets(flip.expected))[:300],
            question=question,
            first_answer=first,
            second_answer=second,
        )
