"""npu-adapter fleet: many adapters on many machines."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from healthcheck.cli import number_types, output
from healthcheck.cli.parsing import Parser
from healthcheck.cli.places import new_place, place
from healthcheck.errors import ExitStatus, UsageError
from healthcheck.language import phrases_of_the_process

if TYPE_CHECKING:
    from healthcheck.fleet.launch import Network
    from healthcheck.fleet.looks import Looked, Terms
    from healthcheck.fleet.machines import Machines
    from healthcheck.fleet.manifests import Pods
    from healthcheck.fleet.on_ray import Cluster
    from healthcheck.fleet.options import Verify
    from healthcheck.fleet.records import Job

LOCAL = "local"
DEFAULT_LIMIT_S = 4 * 3600.0
DEFAULT_LOOK_S = 3600.0
LEVELS = (1, 2, 3)
DEFAULT_LEVEL = 2


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the subcommands and their options."""
    commands = parser.add_subparsers(title="subcommands", metavar="COMMAND", required=True)
    verify = _subcommand(commands, "verify", "verify the adapters of a job file", parser)
    _jobs_argument(verify)
    verify.add_argument("--out", type=new_place, metavar="DIR", required=True,
                        help="where reports, fleet.html, fleet.json and junit.xml go")  # fmt: skip
    _machine_arguments(verify)
    verify.add_argument("--runner", type=int, nargs="?", const=DEFAULT_LEVEL, choices=LEVELS, metavar="LEVEL",
                        help="first look at the machines as `fleet runner` does; one whose checks fail takes no "
                        "jobs (default: level %(const)s)")  # fmt: skip
    verify.add_argument("--resume", action="store_true", help="go on with the run in DIR: what has ended stays")
    verify.add_argument("--retries", type=number_types.integer, default=1, metavar="N",
                        help="how often a job is tried again that ended inconclusive, with a failure of the kit or "
                        "with its machine (default: %(default)s)")  # fmt: skip
    verify.add_argument("--time-limit", type=number_types.positive, default=DEFAULT_LIMIT_S, metavar="S",
                        help="seconds that an attempt may take (default: %(default)g)")  # fmt: skip
    verify.add_argument("--quiet", action="store_true", help="no progress; only the closing table")
    verify.set_defaults(action=_verify)
    _runner_arguments(_subcommand(commands, "runner", "look at every machine: which may take jobs", parser))
    collect = _subcommand(commands, "collect", "make one run of what many machines left", parser)
    _jobs_argument(collect)
    collect.add_argument("--from", dest="reports", type=place, metavar="DIR", required=True,
                         help="the folder with the folders that pods or runners left")  # fmt: skip
    collect.add_argument("--out", type=new_place, metavar="DIR", required=True, help="as for `fleet verify`")
    collect.set_defaults(action=_collect)
    _manifest_arguments(
        _subcommand(commands, "manifests", "write what other schedulers run a job file with", parser)
    )


def _machine_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--on", default=LOCAL, metavar="MACHINES",
                        help="local (default): one job after the other on this machine; auto, HOST:PORT or "
                        "ray://HOST:PORT: a cluster of Ray, as Ray writes its address")  # fmt: skip
    parser.add_argument("--own-network", action="store_true",
                        help="give each launch a network of its own, with nothing outside the machine, so that "
                        "several share a node of the cluster (takes root)")  # fmt: skip


def _runner_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--out", type=new_place, metavar="DIR", required=True,
                        help="where machines.json and the report of each machine go")  # fmt: skip
    _machine_arguments(parser)
    parser.add_argument("--level", type=int, choices=LEVELS, default=DEFAULT_LEVEL,
                        help="as for `npu-adapter runner` (default: %(default)s)")  # fmt: skip
    parser.add_argument("--stack", default="", metavar="ROW",
                        help="the vllm-ascend release to compare versions with (default: the nearest)")  # fmt: skip
    parser.add_argument("--time-limit", type=number_types.positive, default=DEFAULT_LOOK_S, metavar="S",
                        help="seconds for each machine (default: %(default)g)")  # fmt: skip
    parser.set_defaults(action=_runner)


def _jobs_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("jobs", type=place, metavar="JOBS",
                        help="the job file, .toml, .jsonl or .csv: a row a job, its keys the options of "
                        "`npu-adapter verify` (docs/fleet.md)")  # fmt: skip
    parser.add_argument("--no-settings", action="store_true",
                        help="ignore the repositories' own settings, which may leave out checks")  # fmt: skip


def _manifest_arguments(parser: argparse.ArgumentParser) -> None:
    _jobs_argument(parser)
    parser.add_argument("--kind", choices=("kubernetes", "github"), required=True)
    parser.add_argument("--out", type=new_place, metavar="FILE", help="default: standard output")
    parser.add_argument("--retries", type=number_types.integer, default=1, metavar="N",
                        help="how often a job is tried again, on Kubernetes by another pod "
                        "(default: %(default)s)")  # fmt: skip
    parser.add_argument("--time-limit", type=number_types.positive, default=DEFAULT_LIMIT_S, metavar="S",
                        help="seconds that an attempt may take (default: %(default)g)")  # fmt: skip
    pods = parser.add_argument_group("pods; clusters differ in all of it")
    pods.add_argument("--name", default="npu-adapter-fleet", help="the beginning of the objects' names")
    pods.add_argument("--image", default="", help="the image, with vllm-ascend and this kit")
    pods.add_argument("--resource", default="huawei.com/Ascend910", metavar="NAME",
                      help="what NPUs are called (default: %(default)s)")  # fmt: skip
    pods.add_argument(
        "--weights-claim", default="weights", metavar="NAME", help="the volume claim with the weights"
    )
    pods.add_argument("--weights-mount", default="/data", metavar="DIR", help="where it is mounted, read-only")
    pods.add_argument("--reports-claim", default="reports", metavar="NAME", help="the volume claim for the reports")
    pods.add_argument("--shared-memory", default="64Gi", metavar="SIZE", help="of /dev/shm (default: %(default)s)")
    pods.add_argument("--node-selector", action="append", default=[], metavar="LABEL=VALUE",
                      help="{npu} in the value stands for the kind of NPU of a job; may be repeated")  # fmt: skip
    pods.add_argument("--parallelism", type=number_types.count, default=8, metavar="N",
                      help="pods at a time (default: %(default)s)")  # fmt: skip
    runners = parser.add_argument_group("runners of GitHub")
    runners.add_argument(
        "--runs-on", default="self-hosted,linux,npu", metavar="LABEL,…", help="(default: %(default)s)"
    )
    parser.set_defaults(action=_manifests)


def run(options: argparse.Namespace) -> int:
    """Run the subcommand; its exit status."""
    status: int = options.action(options)
    return status


def _subcommand(
    commands: argparse._SubParsersAction[argparse.ArgumentParser],
    name: str,
    text: str,
    like: argparse.ArgumentParser,
) -> argparse.ArgumentParser:
    parser = commands.add_parser(
        name, help=text, description=f"{text[0].upper()}{text[1:]}.", epilog=like.epilog,
    )  # fmt: skip
    parser.set_defaults(subparser=parser)
    return parser


def _verify(options: argparse.Namespace) -> ExitStatus:
    from healthcheck.fleet import drive, journal, looks, outputs, show  # noqa: PLC0415 - --help needs none of it

    if options.retries < 0 or not math.isfinite(options.time_limit):
        raise UsageError(f"--retries {options.retries} is less than 0")
    asked = _jobs(options)
    out = options.out.absolute()
    output.refuse_unwritable(None, out=out)
    settings = drive.Settings(
        out=out, limit_s=options.time_limit, retries=options.retries, network=_network(options)
    )
    with journal.opened(out, asked, resume=options.resume) as kept:
        machines, left_out = _machines(options.on, settings.network)
        output.end_with_a_report()  # after Ray, which has SIGTERM end a driver at once
        if options.runner:
            terms = looks.Terms(level=options.runner, limit_s=DEFAULT_LOOK_S, network=settings.network)
            looked = _look(machines, out, terms)
            machines.leave_out(looked.left_out.keys())
            left_out += tuple(f"{name}: {why}" for name, why in looked.left_out.items())
            settings = replace(settings, tried=looked.tried)
        settings = replace(settings, left_out=left_out)
        listener = show.listener(len(asked), phrases_of_the_process(), quiet=options.quiet)
        try:
            fleet = drive.Drive(
                jobs=asked,
                settings=settings,
                journal=kept,
                machines=machines,
                listener=listener,
                saved=lambda now: outputs.write(out, now, phrases_of_the_process()),
            ).run()
        finally:
            listener.close()
    phrases = phrases_of_the_process()
    print("\n".join(show.table(fleet, phrases)))
    print(phrases.labelled("Page of all jobs", str(out / outputs.PAGE)))
    return fleet.exit_status


def _jobs(options: argparse.Namespace) -> tuple[Job, ...]:
    from healthcheck.fleet import jobs  # noqa: PLC0415 - see _verify()

    return jobs.read(options.jobs, grammar(), {"no_settings": True} if options.no_settings else {})


def _collect(options: argparse.Namespace) -> ExitStatus:
    from healthcheck.fleet import collect, journal, outputs, show  # noqa: PLC0415 - see _verify()

    asked = _jobs(options)
    out = options.out.absolute()
    left = collect.left_below(options.reports)
    output.refuse_unwritable(None, out=out)
    with journal.opened(out, asked, resume=False) as kept:
        fleet = collect.collected(asked, left, out, kept)
        outputs.write(out, fleet, phrases_of_the_process())
    phrases = phrases_of_the_process()
    print("\n".join(show.table(fleet, phrases)))
    print(phrases.labelled("Page of all jobs", str(out / outputs.PAGE)))
    return fleet.exit_status


def _manifests(options: argparse.Namespace) -> ExitStatus:
    from healthcheck import yaml_text  # noqa: PLC0415 - see _verify()
    from healthcheck.fleet import manifests  # noqa: PLC0415
    from healthcheck.report import folder  # noqa: PLC0415

    output.refuse_unwritable(options.out)
    asked = _jobs(options)
    terms = manifests.Terms(limit_s=options.time_limit, retries=options.retries)
    if options.kind == "github":
        text = yaml_text.dump(manifests.github(asked, options.runs_on.split(","), terms))
    else:
        text = "---\n".join(map(yaml_text.dump, manifests.kubernetes(asked, _pods(options), terms)))
    if options.out:
        folder.save(options.out, text.encode())
    else:
        print(text, end="")
    return ExitStatus.READY


def _pods(options: argparse.Namespace) -> Pods:
    from healthcheck.fleet.manifests import Pods  # noqa: PLC0415 - see _verify()

    if not options.image:
        raise UsageError("--image is needed: an image with vllm-ascend and this kit")
    wrong = next((pair for pair in options.node_selector if "=" not in pair), None)
    if wrong is not None:
        raise UsageError(f"--node-selector {wrong!r} has no '=': write LABEL=VALUE")
    return Pods(
        name=options.name,
        image=options.image,
        resource=options.resource,
        weights_claim=options.weights_claim,
        weights_mount=options.weights_mount,
        reports_claim=options.reports_claim,
        shared_memory=options.shared_memory,
        selector=dict(pair.split("=", 1) for pair in options.node_selector),
        parallelism=options.parallelism,
    )


def _runner(options: argparse.Namespace) -> ExitStatus:
    from healthcheck import stacks  # noqa: PLC0415 - see _verify()
    from healthcheck.fleet.looks import Terms  # noqa: PLC0415
    from healthcheck.fleet.records import worst  # noqa: PLC0415

    stacks.choose(options.stack)
    out = options.out.absolute()
    output.refuse_unwritable(None, out=out)
    network = _network(options)
    terms = Terms(level=options.level, stack=options.stack, limit_s=options.time_limit, network=network)
    machines, left_out = _machines(options.on, network)
    output.end_with_a_report()
    try:
        looked = _look(machines, out, terms)
    finally:
        machines.close()
    print(phrases_of_the_process().labelled("Reports of all machines", f"{out}/machines"))
    return worst([looked.exit_status, *[ExitStatus.INCONCLUSIVE] * bool(left_out)])


def _look(machines: Machines, out: Path, terms: Terms) -> Looked:
    """Look at the machines, and print the tables."""
    from healthcheck.fleet import looks  # noqa: PLC0415 - see _verify()

    phrases = phrases_of_the_process()
    try:
        looked = looks.looked_at(
            machines, out, terms, lambda who, said: print(f"{who}: {phrases.say(said)}", file=sys.stderr)
        )
    except KeyboardInterrupt:
        machines.close()
        raise
    print("\n".join(looks.tables(looked, phrases)))
    return looked


def _network(options: argparse.Namespace) -> Network:
    from healthcheck.fleet.launch import Network  # noqa: PLC0415 - see _verify()

    return Network.OWN if options.own_network else Network.NODE


def _machines(on: str, network: Network) -> tuple[Machines, tuple[str, ...]]:
    """The machines, and why others are left out."""
    if on == LOCAL:
        from healthcheck.fleet.machines import ThisMachine  # noqa: PLC0415 - see _verify()

        return ThisMachine(), ()
    return connected(on, network)


def connected(on: str, network: Network) -> tuple[Cluster, tuple[str, ...]]:
    """The cluster at an address, and why nodes of it are left out, which is printed.

    Raises:
        UsageError: Ray is not installed here, or no cluster answers.
        Blocked: no node can run anything.
    """
    try:
        from healthcheck.fleet.on_ray import Cluster  # noqa: PLC0415 - Ray is an extra, and takes a second
    except ImportError as error:
        raise UsageError(f"--on {on} needs Ray ({error}): pip install 'npu-adapter-kit[fleet]'") from error
    cluster = Cluster(on, network)
    say = phrases_of_the_process().say
    for note in cluster.notes:
        print(f"npu-adapter: {say(note)}", file=sys.stderr)
    return cluster, cluster.strange


def grammar() -> Verify:
    """The options of `npu-adapter verify`, from its own parser."""
    from healthcheck.cli import verify  # noqa: PLC0415 - see _verify()
    from healthcheck.fleet.options import Verify, options_of  # noqa: PLC0415

    parser = _Refusing(prog="npu-adapter verify")
    verify.arguments(parser)

    def refuse(words: Sequence[str]) -> None:
        # The settings of a repository are read with it, on the machine of its launch.
        options, unknown = parser.parse_known_args([*words, "--no-settings"])
        if unknown:
            parser.unknown(unknown)
        verify.requested(options)

    return Verify(options=options_of(parser.actions(), path_type=place), refuse=refuse)


class _Refusing(Parser):
    """Raises UsageError where a command would print and exit."""

    def actions(self) -> list[argparse.Action]:
        """What was declared."""
        return self._actions

    def error(self, message: str) -> NoReturn:
        raise UsageError(self.with_suggestion(message))
