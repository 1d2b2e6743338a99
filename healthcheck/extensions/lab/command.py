"""The command `npu-adapter score` and its options; `score` implements it."""

from __future__ import annotations

import argparse

from healthcheck.cli import output
from healthcheck.cli.parsing import begin_help, exit_statuses
from healthcheck.cli.places import place
from healthcheck.core.extensions import Command, Group
from healthcheck.extensions.lab.combining import Combine
from healthcheck.text.messages import msg


def arguments(parser: argparse.ArgumentParser) -> None:
    begin_help(
        parser, "npu-run --scores scored.jsonl", "npu-run --scores scored.csv --column reward"
    )
    parser.epilog = exit_statuses(
        {0: msg("scored"), 2: msg("wrong usage, or scores that do not fit the run")}
    )
    parser.add_argument("run_folder", type=place, metavar="RUN", help=msg("run folder of a probe"))
    parser.add_argument("--scores", type=place, required=True, metavar="FILE",
                        help=msg("JSON lines or CSV with the columns problem, "
                        "repeat (as in logs/samples.jsonl) and score"))  # fmt: skip
    parser.add_argument("--column", action="append", metavar="NAME[:WEIGHT]",
                        help=msg("column of the scores (default: score); may be repeated"))  # fmt: skip
    parser.add_argument(
        "--combine",
        choices=[each.value for each in Combine],
        default=Combine.WEIGHTS.value,
        help=msg(
            "several columns: their weighted sum (default), the first before the next, or by how "
            "many samples of the problem are better in every column"
        ),
    )
    output.json_argument(parser, msg("the figures"))


def _run(options: argparse.Namespace) -> int:
    from healthcheck.extensions.lab import score  # noqa: PLC0415 - --help needs no figures

    return score.run(options)


_SUMMARY = msg("weigh and rank the samples of a probe run by scores of your own")
COMMAND = Command(summary=_SUMMARY, arguments=arguments, run=_run, group=Group.MEASURE)
