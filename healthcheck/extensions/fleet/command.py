"""`npu-adapter fleet`: its options; the implementation is imported when it runs."""

from __future__ import annotations

import argparse
import importlib

from healthcheck.cli import number_types
from healthcheck.cli.parsing import begin_help, language_argument, sentence
from healthcheck.cli.places import new_place, place
from healthcheck.core.extensions import Command, Group
from healthcheck.extensions.fleet import defaults
from healthcheck.text.messages import msg


def _arguments(parser: argparse.ArgumentParser) -> None:
    begin_help(parser, "verify jobs.toml --out fleet", "runner --on auto --out machines")
    commands = parser.add_subparsers(
        title=msg("subcommands"), dest="subcommand", metavar="COMMAND", required=True
    )
    verify = _subcommand(commands, "verify", msg("verify the adapters of a job file"), parser)
    begin_help(
        verify,
        "jobs.toml --out fleet",
        "jobs.toml --out fleet --on auto --runner",
        "jobs.toml --out fleet --resume",
    )
    verify.add_argument("jobs", type=place, metavar="JOBS",
                        help=msg("the job file, .toml, .jsonl or .csv: a row a job, its keys the options of "
                        "`npu-adapter verify` (docs/fleet.md)"))  # fmt: skip
    verify.add_argument("--no-settings", action="store_true",
                        help=msg("ignore the repositories' own settings, which may leave out checks"))  # fmt: skip
    verify.add_argument("--out", type=new_place, metavar="DIR", required=True,
                        help=msg("where reports, fleet.html, fleet.json and junit.xml go"))  # fmt: skip
    _machine_arguments(verify)
    verify.add_argument(
        "--runner",
        type=int,
        nargs="?",
        const=defaults.LEVEL,
        choices=defaults.LEVELS,
        metavar="LEVEL",
        help=msg(
            "first look at the machines as `fleet runner` does; one whose checks fail takes no "
            "jobs (default: level %(const)s)"
        ),
    )
    verify.add_argument(
        "--resume", action="store_true", help=msg("go on with the run in DIR: what has ended stays")
    )
    verify.add_argument(
        "--retries",
        type=number_types.integer,
        default=1,
        metavar="N",
        help=msg(
            "how often a job is tried again that ended inconclusive, with a failure of the kit or "
            "with its machine (default: %(default)s)"
        ),
    )
    verify.add_argument("--time-limit", type=number_types.positive, default=defaults.ATTEMPT_LIMIT_S, metavar="S",
                        help=msg("seconds that an attempt may take (default: %(default)g)"))  # fmt: skip
    verify.add_argument(
        "--quiet", action="store_true", help=msg("no progress; only the closing table")
    )
    runner = _subcommand(
        commands, "runner", msg("look at every machine: which may take jobs"), parser
    )
    begin_help(runner, "--out machines", "--on auto --level 1 --out machines")
    _runner_arguments(runner)


def _machine_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--on", default=defaults.LOCAL, metavar="MACHINES",
                        help=msg("local (default): one job after the other on this machine; auto, HOST:PORT or "
                        "ray://HOST:PORT: a cluster of Ray, as Ray writes its address"))  # fmt: skip
    parser.add_argument("--own-network", action="store_true",
                        help=msg("give each launch a network of its own, with nothing outside the machine, so that "
                        "several share a node of the cluster (takes root)"))  # fmt: skip


def _runner_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--out", type=new_place, metavar="DIR", required=True,
                        help=msg("where machines.json and the report of each machine go"))  # fmt: skip
    _machine_arguments(parser)
    parser.add_argument("--level", type=int, choices=defaults.LEVELS, default=defaults.LEVEL,
                        help=msg("as for `npu-adapter runner` (default: %(default)s)"))  # fmt: skip
    parser.add_argument(
        "--stack",
        default="",
        metavar="ROW",
        help=msg("the vllm-ascend release to compare versions with (default: the nearest)"),
    )
    parser.add_argument(
        "--time-limit",
        type=number_types.positive,
        default=defaults.EXAMINATION_LIMIT_S,
        metavar="S",
        help=msg("seconds for each machine (default: %(default)g)"),
    )


def _subcommand(
    commands: argparse._SubParsersAction[argparse.ArgumentParser],
    name: str,
    text: str,
    like: argparse.ArgumentParser,
) -> argparse.ArgumentParser:
    command = commands.add_parser(name, help=text, description=sentence(text), epilog=like.epilog)
    language_argument(command)
    return command


def _run(options: argparse.Namespace) -> int:
    status: int = importlib.import_module("healthcheck.extensions.fleet.subcommands").run(options)
    return status


COMMAND = Command(
    summary=msg("verify many adapters on many machines"),
    arguments=_arguments,
    run=_run,
    group=Group.CHECK,
)
