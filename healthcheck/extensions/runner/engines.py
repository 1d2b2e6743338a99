"""Looks at the container engine of a host: Docker's configuration, and Ascend's runtime in it.

Source: MindCluster's guide to Ascend Docker Runtime, "confirm the state of the component": it adds the runtime
`ascend` to /etc/docker/daemon.json and writes /etc/ascend-docker-runtime.d/base.list.
"""

from __future__ import annotations

import glob
from collections.abc import Mapping
from dataclasses import dataclass, replace

from healthcheck.machine.interface import Machine
from healthcheck.system import json_text
from healthcheck.system.json_text import JsonError
from healthcheck.text.messages import msg

CONFIGURATION = "/etc/docker/daemon.json"
MOUNT_LIST = "/etc/ascend-docker-runtime.d/base.list"
_SOCKETS = ("/var/run/docker.sock", "/run/containerd/containerd.sock", "/run/isulad.sock")
MAX_RUNTIMES = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """The container engine.

    Attributes:
        sockets: existing sockets; one means that an engine runs.
        configured: whether Docker has a configuration.
        fault: why the configuration cannot be read, or "".
        default: the default runtime, "" for Docker's own.
        runtimes: the programs of the added runtimes, by name.
        missing: runtimes whose program does not exist.
        mount_list: whether Ascend's runtime has its list of mounts.
    """

    sockets: tuple[str, ...] = ()
    configured: bool = False
    fault: str = ""
    default: str = ""
    runtimes: Mapping[str, str]
    missing: tuple[str, ...] = ()
    mount_list: bool = False


def look(machine: Machine) -> Engine:
    """Look at the files; no engine is queried."""
    found = Engine(
        sockets=tuple(path for path in _SOCKETS if machine.paths(path)),
        runtimes={},
        mount_list=bool(machine.paths(MOUNT_LIST)),
    )
    text = machine.read(CONFIGURATION)
    if text is None or not text.strip():
        return found
    try:
        value = json_text.load(text)
    except JsonError as error:
        return replace(found, configured=True, fault=str(error)[:300])
    if not isinstance(value, dict):
        return replace(found, configured=True, fault=msg("it is not an object"))
    default, named = value.get("default-runtime"), value.get("runtimes")
    runtimes = {
        name[:60]: path[:500]
        for name, each in list((named if isinstance(named, dict) else {}).items())[:MAX_RUNTIMES]
        if isinstance(each, dict) and isinstance(path := each.get("path"), str)
    }
    programs = {name: path for name, path in runtimes.items() if path.startswith("/")}
    missing = tuple(name for name, path in programs.items() if not machine.paths(glob.escape(path)))
    chosen = default[:60] if isinstance(default, str) else ""
    return replace(found, configured=True, default=chosen, runtimes=runtimes, missing=missing)
