"""What a caller adds to the sandbox: the image that the script sees, and what a recorded server serves."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from healthcheck.sandbox.answers import Served
from healthcheck.sandbox.job import Job, Record

Modules = Callable[[Sequence[str], Mapping[str, str], str, Iterable[str], Sequence[Record]], dict[str, str]]


def _install_nothing(_job: Job, _kit: str, _folders: tuple[str, ...]) -> None:
    pass


def _add_nothing(_job: Job, _root: str) -> None:
    pass


def _hide_nothing(_name: str) -> bool:
    return False


def _serve_nothing(_record: Record, model_path: str) -> Served:
    return Served(ports=frozenset(), names=(model_path,), strict=False)


def _read_nothing(_argv: Sequence[str]) -> Iterable[str]:
    return ()


def _find_nothing(
    _argv: Sequence[str], _env: Mapping[str, str], _cwd: str, _texts: Iterable[str], _earlier: Sequence[Record]
) -> dict[str, str]:
    return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Guest:
    """Called in the sandbox's own processes: the first three before the script starts, the others while it runs.

    Attributes:
        install: writes the stubs to a folder, seen by the script as `job.kit`, and links their names into others.
        furnish: adds the files of the image to the root of an isolated machine.
        is_absent: whether a program of this machine is hidden from an isolated script.
        owned, owned_alone: trees and single folders of the image that root may change there.
        reads: files of a command's own that are recorded whatever their names end with.
        file_variables: environment variables that name a file.
        modules: the dotted names on a server's command line that are Python modules, with their folders; given are
            arguments, environment, working directory, texts of its files and earlier records.
        served: what a recorded server serves, given MODEL_PATH.
    """

    install: Callable[[Job, str, tuple[str, ...]], None] = _install_nothing
    furnish: Callable[[Job, str], None] = _add_nothing
    is_absent: Callable[[str], bool] = _hide_nothing
    owned: tuple[str, ...] = ()
    owned_alone: tuple[str, ...] = ()
    reads: Callable[[Sequence[str]], Iterable[str]] = _read_nothing
    file_variables: frozenset[str] = frozenset()
    modules: Modules = _find_nothing
    served: Callable[[Record, str], Served] = _serve_nothing


BARE = Guest()
"""A machine without stubs: enough to see whether a sandbox can be started."""
