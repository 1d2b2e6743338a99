"""Compares two probe runs: whether they are comparable, what changed, and on which problems."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from operator import itemgetter

from healthcheck.errors import UsageError
from healthcheck.extensions.compare.comparison import Comparison, compare
from healthcheck.stages.probe.records import Grid, ProbeRun, count_of_problems
from healthcheck.stages.probe.results.figures import grid
from healthcheck.stages.probe.run.bank import fingerprint
from healthcheck.stages.probe.run.request import differences
from healthcheck.stages.probe.statistics.counting import counts_of
from healthcheck.stages.probe.statistics.summary import ALL
from healthcheck.text.messages import joined, message, msg

MUST_AGREE = ("temperature", "max_tokens")
"""Settings that by themselves affect accuracy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Flip:
    """A problem that most samples of one run get right and most of the other get wrong; exactly half is neither.

    Attributes:
        lost: right in the first run, wrong in the second.
        first, second: right samples and their total.
        first_answer, second_answer: a server's answer from each run that shows the difference.
    """

    problem: str
    tier: str
    question: str
    expected: str
    lost: bool
    first: tuple[int, int]
    second: tuple[int, int]
    first_answer: str
    second_answer: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TwoRuns:
    """The second run against the first.

    Attributes:
        comparisons: of all problems, then of each tier.
        flips: lost problems first, the largest differences first.
        caveats: circumstances that weaken the comparison without forbidding it.
        runs: the identity of both runs: folder, model, compared samples.
    """

    comparisons: tuple[Comparison, ...]
    flips: tuple[Flip, ...]
    caveats: tuple[str, ...]
    runs: tuple[str, str]


def compare_runs(first: ProbeRun, second: ProbeRun, *, margin: float) -> TwoRuns:
    """Compare two runs on the problems that have samples in both; a failed request is a wrong sample.

    Raises:
        UsageError: the runs are not comparable; the message says why.
    """
    rows_first, rows_second = _rows(first), _rows(second)
    shared = sorted(rows_first.keys() & rows_second.keys())
    obstacles = [*_obstacles(first, second)] or (
        [] if shared else [msg("no problem has samples in both")]
    )
    if obstacles:
        raise UsageError(
            msg("these runs cannot be compared: {obstacles}", obstacles=joined("; ", obstacles))
        )
    tiers = list(dict.fromkeys(first.problems[problem].tier for problem in shared))
    groups = [(ALL, shared)]
    if len(tiers) > 1:
        groups += [(tier, [p for p in shared if first.problems[p].tier == tier]) for tier in tiers]
    counts = [
        (tier, _counts(first, rows_first, few), _counts(second, rows_second, few))
        for tier, few in groups
    ]
    return TwoRuns(
        comparisons=tuple(
            compare(before, now, margin=margin, tier=tier) for tier, before, now in counts
        ),
        flips=_flips(first, second, rows_first, rows_second),
        caveats=tuple(_caveats(first, second, len(shared))),
        runs=(_described(first), _described(second)),
    )


def _obstacles(first: ProbeRun, second: ProbeRun) -> Iterator[str]:
    """Why two runs cannot be compared."""
    if fingerprint(first.problems) != fingerprint(second.problems):
        yield msg(
            "they asked different problems ({first}, and {second}): run the second one with the same "
            "--dataset or --family, --problems and --seed",
            first=_bank(first),
            second=_bank(second),
        )
    for name in MUST_AGREE:
        before, now = getattr(first.settings, name), getattr(second.settings, name)
        if before != now:
            yield msg(
                "{option} was {before} and {now}, which moves accuracy by itself: use --{option} {before}",
                option=name.replace("_", "-"),
                before=before,
                now=now,
            )
    for name, before, now in differences(first.settings.request, second.settings.request):
        yield msg(
            "{name} was {before} and {now}, which moves accuracy by itself",
            name=name,
            before=before,
            now=now,
        )
    for place, run in ((msg("first"), first), (msg("second"), second)):
        if not grid(run).rows:
            yield msg(
                "the {place} run ({folder}) has no complete sample: continue it with {again}",
                place=place,
                folder=run.folder,
                again=run.again,
            )


def _rows(run: ProbeRun) -> dict[int, tuple[int, ...]]:
    chosen: Grid = grid(run)
    return dict(zip(chosen.problems, chosen.rows, strict=True))


def _counts(
    run: ProbeRun, rows: dict[int, tuple[int, ...]], problems: Sequence[int]
) -> list[tuple[int, int]]:
    return counts_of(
        [[int(run.grades[place].correct) for place in rows[problem]] for problem in problems]
    )


def _flips(
    first: ProbeRun,
    second: ProbeRun,
    rows_first: dict[int, tuple[int, ...]],
    rows_second: dict[int, tuple[int, ...]],
) -> tuple[Flip, ...]:
    flips = []
    for problem in sorted(rows_first.keys() & rows_second.keys()):
        ((n1, c1),) = _counts(first, rows_first, [problem])
        ((n2, c2),) = _counts(second, rows_second, [problem])
        lost = 2 * c1 > n1 and 2 * c2 < n2
        if not lost and not (2 * c1 < n1 and 2 * c2 > n2):
            continue
        asked = first.problems[problem]
        flip = Flip(
            problem=asked.id,
            tier=asked.tier,
            question=asked.question,
            expected=asked.answer,
            lost=lost,
            first=(c1, n1),
            second=(c2, n2),
            first_answer=_example(first, rows_first[problem], right=lost),
            second_answer=_example(second, rows_second[problem], right=not lost),
        )
        flips.append((not lost, -abs(c1 / n1 - c2 / n2), flip))
    return tuple(flip for *_, flip in sorted(flips, key=itemgetter(0, 1)))


def _example(run: ProbeRun, places: Sequence[int], *, right: bool) -> str:
    place = next((p for p in places if run.grades[p].correct == right), places[0])
    sample = run.samples[place]
    return msg("(request failed: {error})", error=sample.error) if sample.error else sample.text


def _caveats(first: ProbeRun, second: ProbeRun, shared: int) -> Iterator[str]:
    before, now = grid(first).repeats, grid(second).repeats
    if before != now:
        yield msg(
            "the numbers of samples differ: {before} and {now} for each problem",
            before=before,
            now=now,
        )
    if shared < len(first.problems):
        yield msg(
            "only {shared} of {problems} problems have samples in both runs",
            shared=shared,
            problems=len(first.problems),
        )
    for place, run in ((msg("first"), first), (msg("second"), second)):
        if run.failed:
            yield msg(
                "{failed} requests of the {place} run failed, and count as wrong",
                failed=len(run.failed),
                place=place,
            )
        if run.stopped:
            yield msg(
                "the {place} run ended early ({stopped}): its average leans to what ended it",
                place=place,
                stopped=message(run.stopped),
            )


def _described(run: ProbeRun) -> str:
    chosen = grid(run)
    return msg(
        "{name}: {model}, {problems} × {repeats}",
        name=run.folder.name,
        model=run.settings.model,
        problems=count_of_problems(len(chosen.rows)),
        repeats=chosen.repeats,
    )


def _bank(run: ProbeRun) -> str:
    settings = run.settings
    source = settings.dataset or msg("family {family}", family=settings.family)
    return msg(
        "{problems} of {source}, seed {seed}",
        problems=len(run.problems),
        source=source,
        seed=settings.seed,
    )
