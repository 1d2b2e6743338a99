"""`npu-adapter numerics`: whether a running server computes the same log-probabilities in every situation."""

from __future__ import annotations

import argparse
from pathlib import Path

from healthcheck import contract, provenance
from healthcheck.cli import output, sampling
from healthcheck.cli.number_types import whole
from healthcheck.cli.places import new_place, new_report, place
from healthcheck.engine import Ledger
from healthcheck.errors import UsageError
from healthcheck.language import phrases_of_the_process
from healthcheck.numerics.records import NumericsRun, NumericsSettings, Reference, Weights
from healthcheck.progress import Progress
from healthcheck.records import Report, Stage, Verdict, verdict_of

_DEFAULT = NumericsSettings(url="")


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("url", metavar="URL", help=f"the server's root, such as http://127.0.0.1:{contract.PORT}")
    parser.add_argument("--model", default="", help="model name (default: the first that the server lists)")
    parser.add_argument(
        "--reference", type=place, metavar="DIR",
        help="compare token for token with the run in this folder, or with the weights in it, by transformers",
    )  # fmt: skip
    parser.add_argument("--reference-python", default="", metavar="PYTHON",
                        help="a Python with torch and transformers, for weights")  # fmt: skip
    parser.add_argument("--trust-remote-code", action="store_true",
                        help="let code that comes with the weights of --reference run")  # fmt: skip
    parser.add_argument("--pairs", type=whole(1), default=_DEFAULT.pairs, metavar="N",
                        help="comparisons of each kind (default: %(default)s)")  # fmt: skip
    parser.add_argument("--longest", type=whole(1), default=_DEFAULT.longest_tokens, metavar="TOKENS",
                        help="longest prompt (default: %(default)s)")  # fmt: skip
    parser.add_argument("--max-batch", type=whole(1), default=_DEFAULT.max_batch, metavar="N",
                        help="largest batch: the server's --max-num-seqs (default: %(default)s)")  # fmt: skip
    parser.add_argument("--seed", type=int, default=0, help="choice of the prompts (default: %(default)s)")
    written = parser.add_argument_group("output")
    written.add_argument("--out", type=new_place, metavar="DIR",
                         help="run folder and reference (default: report/numerics-YYYYmmdd-HHMMSS)")  # fmt: skip
    output.arguments(written)


def run(options: argparse.Namespace) -> int:
    """Measure, print, write the report; the exit status of the verdict."""
    settings = NumericsSettings(
        url=sampling.server_root(options.url),
        model=options.model,
        pairs=options.pairs,
        longest_tokens=options.longest,
        max_batch=options.max_batch,
        seed=options.seed,
    )
    folder: Path = options.out or new_report("numerics")
    output.refuse_unwritable(options.json, options.junit, options.sarif, out=folder)
    output.end_with_a_report()
    progress = output.progress(options)
    try:
        report, measured = _report(options, settings, progress)
    finally:
        progress.close()
    published = output.publish(options, report, folder if measured or options.out else None)
    if measured and published.folder:
        from healthcheck.numerics import reference, reproduction  # noqa: PLC0415 - as below

        reference.keep(folder, measured)
        reproduction.keep(folder, report.results)
        if not (options.quiet or options.json == output.STDOUT):
            phrases = phrases_of_the_process()
            if report.verdict is Verdict.READY:
                offer = f"Run folder: {folder} (a reference for: npu-adapter numerics URL --reference {folder})"
                print(phrases.say(offer))
            else:
                print(phrases.labelled("Run folder", str(folder)))
    return published.status


def _against(options: argparse.Namespace) -> Reference | Weights | None:
    """What is compared with.

    Raises:
        UsageError: the folder holds neither a run nor weights, or options are for another kind.
    """
    from healthcheck.numerics import local, reference  # noqa: PLC0415 - msgspec takes longer than --help may

    folder: Path | None = options.reference
    if folder and local.are_weights(folder):
        python = local.find_python(options.reference_python)
        return Weights(folder=str(folder), python=python, remote_code=options.trust_remote_code)
    if options.reference_python or options.trust_remote_code:
        raise UsageError("--reference-python and --trust-remote-code are for --reference with a folder of weights")
    return reference.load(folder) if folder else None


def _report(
    options: argparse.Namespace, settings: NumericsSettings, progress: Progress
) -> tuple[Report, NumericsRun | None]:
    from healthcheck.numerics import facts  # noqa: PLC0415 - as above
    from healthcheck.numerics.checks import CHECKS  # noqa: PLC0415
    from healthcheck.numerics.figures import metrics  # noqa: PLC0415

    against = _against(options)
    progress.stage(Stage.NUMERICS, f"comparing log-probabilities of {settings.url}")
    ledger, measured, stopped = Ledger(progress), None, ""
    try:
        measured = ledger.judge(CHECKS, lambda: facts.measure(settings, progress, against))
    except KeyboardInterrupt:
        stopped = "interrupted"
        ledger.skip(CHECKS, stopped)
    report = Report(
        verdict=verdict_of(ledger.results, stopped=stopped),
        results=ledger.results,
        stopped=stopped,
        asked=f"numerics of {settings.url}",
        metrics=metrics(measured) if measured else {},
        provenance={**provenance.kit(), **(facts.provenance(measured) if measured else {})},
    )
    return report, measured
