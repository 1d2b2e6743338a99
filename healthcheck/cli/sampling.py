"""The options of a probe, which `verify` and `probe` share."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

from healthcheck.cli import numbers
from healthcheck.errors import UsageError
from healthcheck.probe.records import ProbeSettings, ReferenceRun

_NAMES = (
    "model", "family", "dataset", "problems", "samples", "concurrency", "temperature", "max_tokens", "seed",
    "threshold", "logprobs", "grading_noise", "bootstrap", "gate", "margin",
)  # fmt: skip


def server_root(text: str) -> str:
    """The root of a server: what people copy from a client's configuration often ends in /v1.

    Raises:
        UsageError: it is not the address of a server.
    """
    if not text.lower().startswith(("http://", "https://")) or not urlsplit(text).hostname:
        raise UsageError(f"{text!r} is not the address of a server: write http://HOST:PORT")
    return text.rstrip("/").removesuffix("/v1")


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options. None means that it was not given: a resumed run has its own values."""
    parser.add_argument("--model", metavar="NAME", help="model name (default: the first that /v1/models lists)")
    what = parser.add_argument_group("problems")
    what.add_argument("--dataset", metavar="FILE", help="problems from a file: GSM8K JSON lines, or qa or mcq as "
                      "JSON lines or CSV")  # fmt: skip
    what.add_argument("--family", help="built-in problems (default: those of the task, or arithmetic)")
    what.add_argument("--problems", type=numbers.count, metavar="N", help="how many different ones (default: 120)")
    what.add_argument("--seed", type=numbers.integer, help="of the problems and their order (default: 0)")
    how = parser.add_argument_group("sampling")
    how.add_argument("--samples", type=numbers.count, metavar="N", help="answers for each problem (default: 5)")
    how.add_argument("--concurrency", type=numbers.count, metavar="N", help="requests in flight (default: 64)")
    how.add_argument("--temperature", type=numbers.number(0, 2), metavar="T", help="default: 0.7; the service's is "
                     "unknown, its client's stock value is 0.01")  # fmt: skip
    how.add_argument("--max-tokens", type=numbers.count, metavar="N",
                     help="default: 4096, or what the context length leaves")  # fmt: skip
    how.add_argument("--logprobs", action="store_true", default=None, help="request log-probabilities: "
                     "Brier score, calibration error, best@n by likelihood")  # fmt: skip
    how.add_argument("--grading-noise", type=_rates, metavar="FN,FP", help="shares of right answers that "
                     "the grader misses and of wrong ones that it passes, to be taken out")  # fmt: skip
    how.add_argument("--bootstrap", type=numbers.count, metavar="N", help="bootstrap intervals too, from N "
                     "resamples of the problems, as many papers print them (they take 1000)")  # fmt: skip
    verdict = parser.add_argument_group("accuracy verdict")
    verdict.add_argument("--reference", metavar="R", help="accuracy of healthy weights on these problems: a number "
                         "from 0 to 1, or the folder of a reference run (same problems and sampling)")  # fmt: skip
    distance = verdict.add_mutually_exclusive_group()
    distance.add_argument("--margin", type=_points, metavar="POINTS", help="loss against the reference to exclude, "
                          "such as 5 (default: the smallest that the samples asked for can settle)")  # fmt: skip
    distance.add_argument("--gate", type=_gate, metavar="BAD,GOOD,ERROR", help="in place of a margin: how far "
                          "below the reference is degraded, up to which healthy, error: .30,.05,.01")  # fmt: skip
    verdict.add_argument("--threshold", type=numbers.share, metavar="T", help="least accuracy, from 0 to 1")
    verdict.add_argument("--full", action="store_true", help="take every sample even if the verdict is clear")


def _rates(text: str) -> tuple[float, float]:
    missed, passed = numbers.several(text, 2)
    if not (missed >= 0 and passed >= 0 and missed + passed < 1):
        raise argparse.ArgumentTypeError("two shares whose sum is below 1, such as .05,.02")
    return missed, passed


def _points(text: str) -> float:
    points = numbers.number()(text)
    if not 1 <= points < 100:
        raise argparse.ArgumentTypeError(f"{text} is not a number of points of accuracy, from 1 to 99, such as 5")
    return points / 100


def _gate(text: str) -> tuple[float, float, float]:
    bad, good, error = numbers.several(text, 3)
    if not (0 <= good < bad < 1 and 0 < error < 0.5):
        raise argparse.ArgumentTypeError("three numbers such as .30,.05,.01: 0 <= GOOD < BAD < 1, 0 < ERROR < .5")
    return bad, good, error


def settings(options: argparse.Namespace, base: ProbeSettings) -> ProbeSettings:
    """The base with what was given on the command line.

    Raises:
        UsageError: the reference is neither a number nor a run that can be one.
    """
    given = {name: value for name in _NAMES if (value := getattr(options, name)) is not None}
    if "margin" in given:
        given["gate"] = None
    elif "gate" in given:
        given["margin"] = None
    if options.reference is not None:
        given |= _reference(options.reference)
    chosen = replace(base, full=options.full or base.full, **given)
    if chosen.margin is not None and not chosen.references:
        raise UsageError("--margin is the loss against a reference: give --reference too")
    return chosen


def _reference(text: str) -> dict[str, Mapping[str, float] | ReferenceRun | None]:
    """The reference accuracies: a number for the whole bank, or those of a run folder by tier, and that run."""
    try:
        value = float(text)
    except ValueError:
        return _run_of(Path(text))
    if not 0 < value < 1:
        raise UsageError(f"a reference accuracy lies between 0 and 1, not at {text}")
    return {"references": {"all": value}, "reference_run": None}


def _run_of(folder: Path) -> dict[str, Mapping[str, float] | ReferenceRun | None]:
    from healthcheck.probe.figures import accuracies  # noqa: PLC0415 - help needs no statistics
    from healthcheck.probe.folder import load  # noqa: PLC0415
    from healthcheck.probe.reference_run import reference_of  # noqa: PLC0415

    run = load(folder)
    return {"references": accuracies(run), "reference_run": reference_of(run)}
