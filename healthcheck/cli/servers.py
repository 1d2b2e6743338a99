"""The servers of a probe: those that are named, or those that it launches on a cluster of Ray."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from healthcheck.cli import output, sampling
from healthcheck.cli.options.servers import DEFAULT_DEADLINE_S
from healthcheck.core.records import Stage
from healthcheck.errors import UsageError
from healthcheck.text.messages import msg

if TYPE_CHECKING:
    from healthcheck.core.progress import Progress
    from healthcheck.fleet.serving import Adapter, Wanted
    from healthcheck.stages.probe.records import ProbeSettings
    from healthcheck.stages.repo.pack import Packed

LOGS = "logs/servers"
_ONLY_WITH_ON = ("weights", "replicas", "npus", "npu", "env", "deadline")


@dataclass(frozen=True, slots=True, kw_only=True)
class Servers:
    """Their roots, and the commit that they were launched from, "" if others launched them."""

    urls: tuple[str, ...]
    commit: str = ""


@contextmanager
def running(
    options: argparse.Namespace, settings: ProbeSettings, folder: Path, progress: Progress
) -> Iterator[Servers]:
    """The servers to probe; those that are launched here end with the context.

    Raises:
        UsageError: the options do not go together, or there is no such repository or cluster.
        Blocked: no server is ready.
    """
    if options.on:
        with _launched(options, settings, folder, progress) as found:
            yield found
        return
    for name in _ONLY_WITH_ON:
        if getattr(options, name) is not None:
            raise UsageError(
                msg("--{name} is for a server that this command launches: give --on ADDRESS, too", name)
            )
    yield Servers(urls=tuple(map(sampling.server_root, options.url)))


@contextmanager
def _launched(
    options: argparse.Namespace, settings: ProbeSettings, folder: Path, progress: Progress
) -> Iterator[Servers]:
    from healthcheck.cli.fleet import connected  # noqa: PLC0415 - a probe of a running server needs none of it
    from healthcheck.fleet.launch import Network  # noqa: PLC0415

    packed, adapter, wanted = _packed(options), _adapter(options), _wanted(options)
    _refuse_the_rest(options, settings, folder, packed.hash)
    cluster, _ = connected(options.on, Network.NODE)
    from healthcheck.fleet.replicas import Replicas  # noqa: PLC0415 - Ray is there, now

    output.end_with_a_report()  # again: Ray has SIGTERM end a driver at once
    progress.stage(
        Stage.SERVICE, msg("launching {name} on the nodes of {on}", Path(options.url[0]).name, options.on)
    )
    with Replicas(cluster, packed, adapter, wanted, logs=folder / LOGS, progress=progress) as replicas:
        yield Servers(urls=replicas.urls, commit=packed.hash)


def _refuse_the_rest(options: argparse.Namespace, settings: ProbeSettings, folder: Path, commit: str) -> None:
    """Before a launch that takes minutes: what would be refused after it."""
    from healthcheck.stages.probe.bank import refuse_problems  # noqa: PLC0415 - as above
    from healthcheck.stages.probe.layout import refuse_used  # noqa: PLC0415

    if not options.resume:
        refuse_used(folder)
    elif settings.commit and settings.commit != commit:
        raise UsageError(
            msg(
                "{folder} cannot be continued: its answers are of commit {commit}, this is {commit2}",
                folder,
                settings.commit[:12],
                commit[:12],
            )
        )
    refuse_problems(settings)


def _packed(options: argparse.Namespace) -> Packed:
    from healthcheck.fleet.drive import packed  # noqa: PLC0415 - as above
    from healthcheck.fleet.jobs import source_of  # noqa: PLC0415

    if options.on == "local":
        raise UsageError(msg("--on local: start deploy.sh here, and name the URL of its server"))
    if len(options.url) > 1:
        raise UsageError(msg("--on launches one repository: {url} is one too many", repr(options.url[1])))
    return packed(source_of(options.url[0], Path.cwd()))


def _adapter(options: argparse.Namespace) -> Adapter:
    from healthcheck.cli.verify import variable  # noqa: PLC0415 - as above
    from healthcheck.fleet.serving import Adapter  # noqa: PLC0415

    if not options.weights:
        raise UsageError(msg("--weights DIR is needed: the weights that deploy.sh serves, a path on the nodes"))
    return Adapter(
        weights=options.weights,
        environment=dict(map(variable, options.env or ())),
        deadline_s=options.deadline or DEFAULT_DEADLINE_S,
    )


def _wanted(options: argparse.Namespace) -> Wanted:
    from healthcheck.cli.verify import one_family  # noqa: PLC0415 - as above
    from healthcheck.fleet.serving import Wanted  # noqa: PLC0415

    if options.npu:
        one_family(options.npu)
    return Wanted(count=options.replicas, npus=options.npus or 0, npu=options.npu or "")
