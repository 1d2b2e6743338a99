"""The source of the problems of a run: a family, a data set, or several; and the examples before them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from healthcheck.errors import UsageError
from healthcheck.stages.probe.data_sets.dataset import Drawn, draw
from healthcheck.stages.probe.data_sets.rows import MAX_ROWS
from healthcheck.stages.probe.problems import TIERS, Dice, Problem, generate, requested
from healthcheck.stages.probe.records import DataSet, Example, ProbeSettings, RequestOptions
from healthcheck.stages.probe.run.request import prompt_of
from healthcheck.stages.probe.statistics.summary import ALL
from healthcheck.text.messages import msg

_CALCULATION = re.compile(r"<<[^<>\n]*>>")
"""The calculator annotations of GSM8K's rationales."""


def drawn(settings: ProbeSettings) -> Drawn:
    """The problems for these settings: a random sample of each data set; equal tiers of a family.

    Raises:
        UsageError: no such family, a data set cannot be read, or there are too few problems for the examples.
    """
    if settings.datasets:
        names = _names(settings.datasets)
        parts = [
            _of_one(settings, *each) for each in zip(shared(settings).datasets, names, strict=True)
        ]
        problems = tuple(problem for part in parts for problem in part.problems)
        examples = tuple(example for part in parts for example in part.examples)
        return Drawn(
            problems=problems,
            of=sum(part.of for part in parts),
            examples=examples or _given(settings),
        )
    if settings.dataset:
        only = DataSet(file=settings.dataset, problems=settings.problems, columns=settings.columns)
        whole = _of_one(settings, only, "")
        return replace(whole, examples=whole.examples or _given(settings))
    problems = _generated(settings, settings.seed, settings.problems)
    return Drawn(
        problems=problems,
        of=len(problems),
        examples=_of_family(settings, problems) or _given(settings),
    )


def shared(settings: ProbeSettings) -> ProbeSettings:
    """The settings with a number of problems for each of several data sets: its own, or an equal share."""
    open_ones = [place for place, each in enumerate(settings.datasets) if each.problems is None]
    left = max(
        settings.problems - sum(each.problems or 0 for each in settings.datasets), len(open_ones)
    )
    share, rest = divmod(left, len(open_ones) or 1)
    counts = {place: share + (turn < rest) for turn, place in enumerate(open_ones)}
    sets = enumerate(settings.datasets)
    return replace(
        settings,
        datasets=tuple(
            replace(each, problems=counts.get(place, each.problems)) for place, each in sets
        ),
    )


def _names(sets: Sequence[DataSet]) -> tuple[str, ...]:
    """A name for each of several data sets: the file's, prefixed with the folder's if two are equal."""
    stems = Counter(Path(each.file).stem for each in sets)
    alike = {stem for stem, count in stems.items() if count > 1} | {ALL}
    paths = [Path(each.file).absolute() for each in sets]
    names = tuple(
        f"{path.parent.name}-{path.stem}" if path.stem in alike else path.stem for path in paths
    )
    if len({*names}) < len(names):
        raise UsageError(msg("two of the data sets have the same name: rename one of the files"))
    return names


def _of_one(settings: ProbeSettings, source: DataSet, name: str) -> Drawn:
    """The problems of a data set; `name` is a prefix of their ids and tiers if there are several data sets."""
    path, count = Path(source.file), source.problems or settings.problems
    shots = 0 if settings.few_shot_file else settings.few_shot
    found = draw(path, count + shots, settings.seed, source.columns)
    places = Dice("few-shot", settings.seed).shuffled(range(len(found.problems)))[:shots]
    asked = [problem for place, problem in enumerate(found.problems) if place not in places][:count]
    if not asked:
        raise UsageError(
            msg(
                "{path} has {of} problems: too few for few_shot = {shots} examples beside them",
                path=path,
                of=found.of,
                shots=shots,
            )
        )
    shown = [found.problems[place] for place in places]
    if name:
        asked, shown = (
            [_named(one, path, name) for one in asked],
            [_named(one, path, name) for one in shown],
        )
    examples = tuple(_example(problem, settings.request, name) for problem in shown)
    return Drawn(problems=tuple(asked), of=found.of, examples=examples)


def _named(problem: Problem, path: Path, name: str) -> Problem:
    tier = f"{name}/{problem.tier}" if problem.tier else name
    return replace(problem, id=f"{name}{problem.id.removeprefix(path.stem)}", tier=tier)


def _generated(settings: ProbeSettings, seed: int, count: int) -> tuple[Problem, ...]:
    share, rest = divmod(count, len(TIERS))
    return tuple(
        problem
        for place, tier in enumerate(TIERS)
        for problem in generate(settings.family, tier, seed, share + (place < rest))
    )


def _of_family(settings: ProbeSettings, asked: tuple[Problem, ...]) -> tuple[Example, ...]:
    """Examples of a family, from another seed and distinct from the problems of the run."""
    if not settings.few_shot or settings.few_shot_file:
        return ()
    for problem in asked:
        _refuse_picture(problem)
    questions = {problem.question for problem in asked}
    others = _generated(settings, settings.seed + 1, len(asked) + settings.few_shot * len(TIERS))
    free = [problem for problem in others if problem.question not in questions]
    if len(free) < settings.few_shot:
        raise UsageError(
            msg(
                "{family} has too few other problems for few_shot = {few_shot}",
                family=settings.family,
                few_shot=settings.few_shot,
            )
        )
    chosen = Dice("few-shot", settings.seed).shuffled(free)[: settings.few_shot]
    return tuple(_example(problem, settings.request, "") for problem in chosen)


def _given(settings: ProbeSettings) -> tuple[Example, ...]:
    """The first examples of the examples file, in its order."""
    if not settings.few_shot_file:
        return ()
    path = Path(settings.few_shot_file)
    found = draw(path, MAX_ROWS, settings.seed, settings.columns).problems
    if len(found) < settings.few_shot:
        raise UsageError(
            msg(
                "{path} has {found} examples, and few_shot asks for {few_shot}",
                path=path,
                found=len(found),
                few_shot=settings.few_shot,
            )
        )
    shown = found[: settings.few_shot or len(found)]
    return tuple(_example(problem, settings.request, "") for problem in shown)


def _example(problem: Problem, options: RequestOptions, source: str) -> Example:
    _refuse_picture(problem)
    return Example(question=prompt_of(problem, options), answer=_answer(problem), source=source)


def _refuse_picture(problem: Problem) -> None:
    if problem.images:
        raise UsageError(
            msg(
                "few_shot: examples are sent as text alone, and {id} has a picture: leave few_shot away, or "
                "name a few_shot_file of questions without pictures",
                id=problem.id,
            )
        )


def _answer(problem: Problem) -> str:
    """The answer of an assistant, in the requested form."""
    rationale, mark, _ = problem.worked.rpartition("####")
    if problem.worked and not mark:
        return problem.worked
    return f"{_CALCULATION.sub('', rationale).strip()}\n{requested(problem)}".strip()
