"""The subcommands of `npu-adapter fleet`, and the grammar of the jobs."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import NoReturn

from healthcheck import contract
from healthcheck.ascend import stacks
from healthcheck.cli import output
from healthcheck.cli.options import verify as options_of_verify
from healthcheck.cli.parsing import Parser, as_message, service_argument, service_asked
from healthcheck.cli.places import place
from healthcheck.cli.request import requested
from healthcheck.errors import ExitStatus, UsageError
from healthcheck.extensions.fleet import defaults, drive, jobs, journal, looks, outputs, show
from healthcheck.extensions.fleet.looks import Look, Terms
from healthcheck.extensions.fleet.machines import Machines, ThisMachine
from healthcheck.extensions.fleet.options import Verify, options_of
from healthcheck.extensions.fleet.records import Job, worst
from healthcheck.stages.repo.settings import Settings
from healthcheck.text.language import translation_of_the_process
from healthcheck.text.messages import msg
from healthcheck.verify import service


def run(options: argparse.Namespace) -> int:
    return _SUBCOMMANDS[options.subcommand](options)


def _verify(options: argparse.Namespace) -> ExitStatus:
    if options.retries < 0 or not math.isfinite(options.time_limit):
        raise UsageError(msg("--retries {retries} is less than 0", retries=options.retries))
    asked = _jobs(options)
    out = options.out.absolute()
    output.refuse_unwritable(None, out=out)
    own_network, translation = options.own_network, translation_of_the_process()
    with journal.opened(out, asked, resume=options.resume) as kept:
        machines, left_out = _machines(options.on, own_network)
        output.end_with_a_report()  # after Ray, which lets SIGTERM end a driver at once
        with closing(machines):
            if options.runner:
                terms = Terms(
                    level=options.runner,
                    limit_s=defaults.EXAMINATION_LIMIT_S,
                    own_network=own_network,
                )
                failing = looks.left_out(_look(machines, out, terms))
                machines.leave_out(failing.keys())
                left_out += tuple(
                    msg("{name}: {why}", name=name, why=why) for name, why in failing.items()
                )
            with closing(show.Show(len(asked), translation, quiet=options.quiet)) as listener:
                fleet = drive.Drive(
                    jobs=asked,
                    out=out,
                    limit_s=options.time_limit,
                    retries=options.retries,
                    own_network=own_network,
                    left_out=left_out,
                    journal=kept,
                    machines=machines,
                    listener=listener,
                    saved=lambda now: outputs.write(out, now, translation),
                ).run()
    print("\n".join(show.table(fleet, translation)))
    print(translation.labelled(msg("Page of all jobs"), str(out / outputs.PAGE)))
    return fleet.exit_status


def _jobs(options: argparse.Namespace) -> tuple[Job, ...]:
    every: dict[str, object] = {"no_settings": True} if options.no_settings else {}
    if profile := contract.service().file:
        every["service"] = str(Path(profile).expanduser().absolute())
    return jobs.read(options.jobs, grammar(), every)


def _runner(options: argparse.Namespace) -> ExitStatus:
    stacks.choose(options.stack)
    out = options.out.absolute()
    output.refuse_unwritable(None, out=out)
    own_network = options.own_network
    terms = Terms(
        level=options.level,
        stack=options.stack,
        limit_s=options.time_limit,
        own_network=own_network,
    )
    machines, left_out = _machines(options.on, own_network)
    output.end_with_a_report()
    with closing(machines):
        looked = _look(machines, out, terms)
    print(translation_of_the_process().labelled(msg("Reports of all machines"), f"{out}/machines"))
    found = [look.attempt.exit_status for look in looked]
    return worst([*found, *[ExitStatus.INCONCLUSIVE] * bool(left_out)])


def _look(machines: Machines, out: Path, terms: Terms) -> tuple[Look, ...]:
    """Examine the machines, and print the table."""
    translation = translation_of_the_process()

    def tell(who: str, said: str) -> None:
        print(translation.say(msg("{name}: {why}", name=who, why=said)), file=sys.stderr)

    looked = looks.looked_at(machines, out, terms, tell)
    print("\n".join(looks.table(looked, translation)))
    return looked


def _machines(on: str, own_network: bool) -> tuple[Machines, tuple[str, ...]]:
    """The machines, and why others are left out; prints these.

    Raises:
        UsageError: Ray is not installed here, or no cluster answers.
        Blocked: no node can run anything.
    """
    if on == defaults.LOCAL:
        return ThisMachine(), ()
    try:
        from healthcheck.extensions.fleet.on_ray import Cluster  # noqa: PLC0415 - Ray is an extra, and takes a second
    except ImportError as error:
        raise UsageError(
            msg(
                "--on {on} needs Ray ({error}): pip install 'npu-adapter-kit[fleet]'",
                on=on,
                error=error,
            )
        ) from error
    cluster = Cluster(on, own_network)
    say = translation_of_the_process().say
    for why in cluster.strange:
        print("npu-adapter: " + say(msg("left out: {why}", why=why)), file=sys.stderr)
    return cluster, cluster.strange


def grammar() -> Verify:
    """The options of `npu-adapter verify`, from its own parser."""
    parser = _Refusing(prog="npu-adapter verify")
    service_argument(parser)
    options_of_verify.arguments(parser)

    def refuse(words: Sequence[str]) -> None:
        # The settings of a repository are read with it, on the machine of its launch.
        with service_asked(words):
            options, unknown = parser.parse_known_args([*words, "--no-settings"])
            if unknown:
                parser.unknown(unknown)
            requested(options, service.completed(Settings()))

    return Verify(options=options_of(parser.actions(), path_type=place), refuse=refuse)


class _Refusing(Parser):
    """Raises UsageError instead of printing and exiting."""

    def actions(self) -> list[argparse.Action]:
        """The declared options and arguments."""
        return self._actions

    def error(self, message: str) -> NoReturn:
        raise UsageError(as_message(message))


_SUBCOMMANDS = {"verify": _verify, "runner": _runner}
