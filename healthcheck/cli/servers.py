"""The servers of a probe: given by their addresses, or launched by the extension fleet on a cluster of Ray."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from healthcheck.cli import sampling
from healthcheck.core.extensions import part
from healthcheck.core.progress import Progress
from healthcheck.errors import UsageError
from healthcheck.stages.probe.records import ProbeSettings

_ONLY_WITH_ON = ("weights", "replicas", "npus", "npu", "env", "deadline")


@dataclass(frozen=True, slots=True, kw_only=True)
class Servers:
    """The roots of the servers, and the commit that this command launched; "" if others launched them."""

    urls: tuple[str, ...]
    commit: str = ""


Launched = Callable[[argparse.Namespace, ProbeSettings, Path, Progress], AbstractContextManager[Servers]]
"""The function of the extension: launches servers as the options say, and ends them with the context."""


@contextmanager
def running(
    options: argparse.Namespace, settings: ProbeSettings, folder: Path, progress: Progress
) -> Iterator[Servers]:
    """The servers to probe; servers that are launched here end with the context.

    Raises:
        UsageError: the options contradict each other, or the repository or the cluster does not exist.
        Blocked: no server is ready.
    """
    if options.on:
        launched: Launched = part("fleet", "--on")
        with launched(options, settings, folder, progress) as found:
            yield found
        return
    for name in _ONLY_WITH_ON:
        if getattr(options, name) is not None:
            raise UsageError("--{name} is for a server that this command launches: give --on ADDRESS, too", name)
    yield Servers(urls=tuple(map(sampling.server_root, options.url)))
