"""What a caller adds to the sandbox: the image that the script sees, and what a recorded server serves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from healthcheck.sandbox.answers import Served
from healthcheck.sandbox.job import Job, Record


def _install_nothing(_job: Job, _kit: str, _folders: tuple[str, ...]) -> None:
    pass


def _add_nothing(_job: Job, _root: str) -> None:
    pass


def _hide_nothing(_name: str) -> bool:
    return False


def _serve_nothing(_record: Record, model_path: str) -> Served:
    return Served(ports=frozenset(), names=(model_path,), strict=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Guest:
    """Called inside the sandbox's own processes, before the script starts; only `served` afterwards.

    Attributes:
        install: writes the stubs to a folder, seen by the script as `job.kit`, and links their names into others.
        furnish: adds the files of the image to the root of an isolated machine.
        is_absent: whether a program of this machine is hidden from an isolated script.
        owned, owned_alone: trees and single folders of the image that root may change there.
        served: what a recorded server serves, given MODEL_PATH.
    """

    install: Callable[[Job, str, tuple[str, ...]], None] = _install_nothing
    furnish: Callable[[Job, str], None] = _add_nothing
    is_absent: Callable[[str], bool] = _hide_nothing
    owned: tuple[str, ...] = ()
    owned_alone: tuple[str, ...] = ()
    served: Callable[[Record, str], Served] = _serve_nothing


BARE = Guest()
"""A machine without stubs: enough to see whether a sandbox can be started."""
