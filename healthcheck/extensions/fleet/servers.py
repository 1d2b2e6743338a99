"""The servers that `npu-adapter probe --on` launches: one repository on the nodes of a cluster of Ray."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from healthcheck import contract
from healthcheck.cli import output
from healthcheck.cli.options.servers import DEFAULT_DEADLINE_S
from healthcheck.cli.servers import Servers
from healthcheck.cli.verify import one_family, variable
from healthcheck.core.progress import Progress
from healthcheck.core.records import Stage
from healthcheck.errors import UsageError
from healthcheck.extensions.fleet import drive
from healthcheck.extensions.fleet.jobs import source_of
from healthcheck.extensions.fleet.launch import Network
from healthcheck.extensions.fleet.serving import Adapter, Wanted
from healthcheck.extensions.fleet.subcommands import connected
from healthcheck.stages.probe.records import ProbeSettings
from healthcheck.stages.probe.run.bank import refuse_problems
from healthcheck.stages.probe.run.layout import refuse_used
from healthcheck.stages.repo.pack import Packed
from healthcheck.text.messages import msg

LOGS = "logs/servers"


@contextmanager
def launched(
    options: argparse.Namespace, settings: ProbeSettings, folder: Path, progress: Progress
) -> Iterator[Servers]:
    """Servers of the repository in the options, one per node; they end with the context.

    Raises:
        UsageError: the options contradict each other, or the repository or the cluster does not exist.
        Blocked: no server is ready.
    """
    packed, adapter, wanted = _packed(options), _adapter(options), _wanted(options)
    _refuse_the_rest(options, settings, folder, packed.hash)
    cluster, _ = connected(options.on, Network.NODE)
    from healthcheck.extensions.fleet.replicas import Replicas  # noqa: PLC0415 - Ray is there, now

    output.end_with_a_report()  # again: Ray lets SIGTERM end a driver at once
    launching = msg("launching {name} on the nodes of {on}", Path(options.url[0]).name, options.on)
    progress.stage(Stage.SERVICE, launching)
    with closing(Replicas(cluster, packed, adapter, wanted, logs=folder / LOGS, progress=progress)) as replicas:
        replicas.launch()
        yield Servers(urls=replicas.urls, commit=packed.hash)


def _refuse_the_rest(options: argparse.Namespace, settings: ProbeSettings, folder: Path, commit: str) -> None:
    """Refuse before a launch of minutes what would be refused after it."""
    if not options.resume:
        refuse_used(folder)
    elif settings.commit and settings.commit != commit:
        told = (folder, settings.commit[:12], commit[:12])
        raise UsageError(
            "{folder} cannot be continued: its answers are of commit {commit}, this is {commit2}", *told
        )
    refuse_problems(settings)


def _packed(options: argparse.Namespace) -> Packed:
    if options.on == "local":
        raise UsageError(msg("--on local: start deploy.sh here, and name the URL of its server"))
    if len(options.url) > 1:
        raise UsageError("--on launches one repository: {url} is one too many", repr(options.url[1]))
    return drive.packed(source_of(options.url[0], Path.cwd()))


def _adapter(options: argparse.Namespace) -> Adapter:
    if not options.weights:
        raise UsageError(msg("--weights DIR is needed: the weights that deploy.sh serves, a path on the nodes"))
    environment = dict(map(variable, options.env or ()))
    deadline_s = options.deadline or contract.service().start_up_seconds or DEFAULT_DEADLINE_S
    return Adapter(weights=options.weights, environment=environment, deadline_s=deadline_s)


def _wanted(options: argparse.Namespace) -> Wanted:
    if options.npu:
        one_family(options.npu)
    return Wanted(count=options.replicas, npus=options.npus or 0, npu=options.npu or "")
