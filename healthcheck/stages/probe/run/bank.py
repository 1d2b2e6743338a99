"""The problems of a run, and the order in which their samples are sent."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace

from healthcheck.errors import UsageError
from healthcheck.stages.probe.problems import Dice, Problem
from healthcheck.stages.probe.records import ProbeSettings, Slot
from healthcheck.stages.probe.run.drawing import drawn
from healthcheck.stages.probe.run.request import differences
from healthcheck.system import json_text
from healthcheck.text.messages import joined, msg


def bank(settings: ProbeSettings) -> tuple[Problem, ...]:
    """The problems for these settings: a random sample of a data set; equal tiers of a family.

    Raises:
        UsageError: no such family, or the data set cannot be read.
    """
    return drawn(settings).problems


def refuse_problems(settings: ProbeSettings) -> None:
    """Before a slow launch, make sure that the named problems are available and are those of the reference run.

    Raises:
        UsageError: they are not.
    """
    if settings.dataset or settings.family:
        problems, reference = bank(settings), settings.reference_run
        allowed = (
            reference.max_tokens if reference else settings.max_tokens
        )  # a server may still lower it
        refuse_unlike(replace(settings, max_tokens=allowed), problems)


def refuse_unlike(settings: ProbeSettings, problems: Sequence[Problem]) -> None:
    """Make sure that a run sends the same requests as its reference run.

    Raises:
        UsageError: it does not; the message names each difference.
    """
    reference = settings.reference_run
    if reference is None:
        return
    found = [
        msg(
            "{option} was {before} and is {now}: use --{option} {before}",
            option=name.replace("_", "-"),
            before=before,
            now=now,
        )
        for name in ("samples", "temperature", "max_tokens")
        if (before := getattr(reference, name)) != (now := getattr(settings, name))
    ]
    if reference.problems_sha256 != fingerprint(problems):
        before, now = len(reference.counts), len(problems)
        asked = msg("it asked {before} problems, and not {now}", before=before, now=now)
        if before == now:
            asked = msg("it asked {before} other problems", before=before)
        repeated = msg("{folder}/configs/probe.toml has them", folder=reference.folder)
        advice = msg(
            "{asked}: use its --dataset or --family, --problems and --seed ({repeated})",
            asked=asked,
            repeated=repeated,
        )
        found.insert(0, advice)
    differing = differences(reference.request, settings.request)
    found += [
        msg("{name} was {before} and is {now}", name=name, before=was, now=is_now)
        for name, was, is_now in differing
    ]
    if found:
        raise UsageError(
            msg(
                "{folder} is not a reference for this run: {found}",
                folder=reference.folder,
                found=joined("; ", found),
            )
        )


def fingerprint(problems: Sequence[Problem]) -> str:
    """A digest of all questions and expected answers.

    Pictures count by their problem's id: other releases of zlib compress the same picture to other bytes.
    """
    plain = (replace(problem, images=()) for problem in problems)
    return hashlib.sha256(b"".join(json_text.dump_line(problem) for problem in plain)).hexdigest()


def schedule(problems: int, samples: int, seed: int) -> tuple[Slot, ...]:
    """Rounds over the bank, each in its own seeded order: first one sample of every problem, then the next.

    The first round has one sample of each distinct problem, shuffled over the tiers, as a sequential test requires.
    Rounds ensure that a run that ends early has measured many problems and not a few.
    """
    pairs = [
        (problem, repeat)
        for repeat in range(samples)
        for problem in Dice("schedule", seed, repeat).shuffled(range(problems))
    ]
    return tuple(
        Slot(order=order, problem=problem, repeat=repeat)
        for order, (problem, repeat) in enumerate(pairs)
    )
