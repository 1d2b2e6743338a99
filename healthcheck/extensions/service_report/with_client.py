"""`probe --client aisbench` and `verify --client aisbench`: the evaluation client itself asks the server.

What it reports is read as `npu-adapter read` does, and is beside the figures of a probe of the same problems.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from healthcheck.cli import output, sampling
from healthcheck.cli.places import new_report
from healthcheck.core.progress import Progress
from healthcheck.core.stages import Stage
from healthcheck.errors import Blocked, ExitStatus, KitError, UsageError
from healthcheck.extensions.service_report import client, client_task, read
from healthcheck.extensions.service_report.client import Client
from healthcheck.extensions.service_report.client_task import ClientTask
from healthcheck.extensions.service_report.reading import Reading
from healthcheck.stages.probe.records import ProbeRun
from healthcheck.stages.probe.results import export, figures
from healthcheck.stages.probe.statistics.estimates import THIS_BANK, Estimate, Summary
from healthcheck.stages.probe.statistics.summary import accuracy_name
from healthcheck.system import json_text
from healthcheck.text.language import translation_of_the_process
from healthcheck.text.messages import msg
from healthcheck.verify.run import Measurement, Run

_DEMO = msg(
    ". Its demo set needs train.jsonl and test.jsonl of GSM8K in FOLDER/ais_bench/datasets/gsm8k, and "
    "AIS_BENCH_DATASETS_CACHE=FOLDER; --family arithmetic needs no download"
)
CLIENT = Stage(
    name="client", title=msg("the evaluation client asks the probe's problems"), place=75
)
_OF_THE_PROBE = ("resume", "junit")


def probe(options: argparse.Namespace) -> int:
    """Have AISBench ask, print, write JSON; 0 if it came to its end and its figures can be recomputed, else 3."""
    for name in _OF_THE_PROBE:
        if getattr(options, name):
            raise UsageError(
                msg("--{name} is for the kit's own probe: leave it away, or --client", name=name)
            )
    found, url = (
        client.find(options.aisbench_python, options.client_deadline),
        sampling.server_root(options.url),
    )
    asked = client_task.of_options(sampling.asked(options))
    folder: Path = options.out or new_report("client")
    if folder.exists() and any(folder.iterdir()):
        raise UsageError(msg("{folder} is not empty: name another --out", folder=folder))
    output.refuse_unwritable(options.json, out=folder)
    output.end_with_a_report()
    progress = output.progress(options)
    try:
        trouble, readings = _measured(found, asked, url, folder, progress)
    finally:
        progress.close()
    lines = (line for reading in readings for line in _lines(reading, asked.probe, trouble))
    output.show(lines, options.json, lambda: {**read.as_json(readings), "stopped": trouble})
    if options.json != output.STDOUT:
        say = translation_of_the_process()
        told = msg(
            "{folder} (again: npu-adapter read {place})",
            folder=folder,
            place=folder / client.REPORTS,
        )
        print(say.labelled(msg("Run folder"), say.say(told)))
    done = not trouble and any(reading.truth or reading.regraded for reading in readings)
    return ExitStatus.READY if done else ExitStatus.INCONCLUSIVE


def in_a_run(options: argparse.Namespace) -> Measurement:
    """What `verify` has AISBench do after its probe, with the same problems.

    Raises:
        UsageError: there is no AISBench, or the report folder has a report of it already, which would be mixed with
            the new one.
    """
    if options.out and (options.out / client.REPORTS).exists():
        raise UsageError(
            msg(
                "{folder} is there already: name another --out", folder=options.out / client.REPORTS
            )
        )
    found = client.find(options.aisbench_python, options.client_deadline)

    def measure(run: Run, url: str) -> None:
        if run.measured is None:
            return
        try:
            asked = replace(client_task.like(run.measured), model=run.request.model)
            trouble, readings = _measured(found, asked, url, run.request.out, run.progress)
        except KitError as error:  # it decides nothing
            run.progress.note(msg("AISBench did not measure: {reason}", reason=error))
            return
        run.metrics["AISBench"] = json_text.plain(read.as_json(readings))
        run.stopped = run.stopped or trouble * (trouble == client.INTERRUPTED)
        for line in (
            line for reading in readings for line in _lines(reading, run.measured, trouble)
        ):
            run.progress.note(line)

    return Measurement(option="--client", stage=CLIENT, needs=Stage.PROBE, judge=measure)


def _measured(
    found: Client, asked: ClientTask, url: str, folder: Path, progress: Progress
) -> tuple[str, list[Reading]]:
    """Why AISBench did not come to its end, "" if it did; and what it reported.

    Raises:
        Blocked: it reported nothing.
    """
    folder.mkdir(parents=True, exist_ok=True)
    progress.stage(CLIENT, msg("AISBench asks {url}", url=url))
    trouble = client.run(found, asked, url, folder, progress)
    try:
        readings = read.readings_of(folder / client.REPORTS)
    except UsageError:
        readings = []
    if any(reading.task.answered or reading.task.failed for reading in readings):
        return trouble, readings
    why, hint = (
        client.last_error(folder) or trouble or msg("it does not say why"),
        "" if asked.bank else _DEMO,
    )
    raise Blocked(
        msg(
            "AISBench measured nothing: {why} ({log}){hint}",
            why=why,
            log=folder / client.LOG,
            hint=hint,
        )
    )


def _lines(reading: Reading, run: ProbeRun | None, trouble: str) -> Iterator[str]:
    if trouble:
        yield msg("AISBench did not come to its end: {why}. What it measured so far:", why=trouble)
    yield from read.lines_of(reading)
    yield ""
    if run and reading.answered and (ours := figures.overall(run)).estimates:
        yield from _beside(reading, reading.answered, run, ours)


def _beside(reading: Reading, theirs: Summary, run: ProbeRun, ours: Summary) -> Iterator[str]:
    """The figures of AISBench and of the probe, and whether the averages agree."""
    columns: dict[str, dict[str, str]] = {
        msg("AISBench printed"): read.reported(reading),
        msg("the probe foresaw"): export.client_column(run),
        msg("true, AISBench"): read.column(theirs, reading.repeats),
        msg("true, probe"): read.column(ours, ours.repeats),
    }
    yield from read.side_by_side(columns)
    one, other = _average(theirs), _average(ours)
    if one and other and one.low <= other.high and other.low <= one.high:
        yield msg("the averages agree within their intervals for {this_bank}", this_bank=THIS_BANK)
    else:
        yield msg(
            "the averages differ by more than their intervals for {this_bank}: AISBench sends its own prompt, with "
            "four worked examples",
            this_bank=THIS_BANK,
        )
    yield ""


def _average(summary: Summary) -> Estimate | None:
    name = f"avg@{summary.repeats}" if summary.repeats > 1 else accuracy_name(1)
    return summary.estimate(name, THIS_BANK)
