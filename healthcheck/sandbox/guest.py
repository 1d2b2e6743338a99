"""What a caller adds to the sandbox: the files and stubs of its image, and what a recorded server answers."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from healthcheck.sandbox.answers import Served
from healthcheck.sandbox.job import Job, Record


class Role(enum.Enum):
    """What a stub in Python may record besides commands.

    SERVES_ITS_WORDS: a server with the arguments on its own command line. SERVES_ANYTHING: a server with arguments
    from the program that started it.
    """

    SERVES_ITS_WORDS = enum.auto()
    SERVES_ANYTHING = enum.auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class Guest:
    """Functions and data for the sandbox. `install`, `furnish` and `is_absent` are called before the script starts.

    Attributes:
        install: writes the stubs to a folder, which the script sees as `job.kit`, and links them into others.
        furnish: adds the files of the image to the root of the machine that the script sees.
        renamed: a pattern for the beginnings of paths that lead to these files where the script has no root.
        is_absent: whether a program of this machine is hidden from the script.
        scripts: the folder of the stubs in Python, below `job.kit`; "" for none.
        roles: the stubs, by name, that may do more than record a command.
        owned, owned_alone: trees and single folders of the image that root may change there.
        reads: files of a command that are recorded whatever their extension.
        file_variables: environment variables that name a file.
        modules: the dotted names on a server's command line that are Python modules, with their folders; takes
            arguments, environment, working directory, texts of its files and earlier records.
        served: what a recorded server serves, given the job.
    """

    install: Callable[[Job, str, tuple[str, ...]], None]
    furnish: Callable[[Job, str], None]
    is_absent: Callable[[Job, str], bool]
    renamed: bytes = rb"(?!)"
    scripts: str = ""
    roles: Mapping[str, Role] = field(default_factory=dict)
    owned: tuple[str, ...] = ()
    owned_alone: tuple[str, ...] = ()
    reads: Callable[[Sequence[str]], Iterable[str]]
    file_variables: frozenset[str] = frozenset()
    modules: Callable[
        [Sequence[str], Mapping[str, str], str, Iterable[str], Sequence[Record]], Mapping[str, str]
    ]
    served: Callable[[Record, Job], Served]


BARE = Guest(
    install=lambda *_: None,
    furnish=lambda *_: None,
    is_absent=lambda *_: False,
    reads=lambda _: (),
    modules=lambda *_: {},
    served=lambda _, job: Served(ports=frozenset(), names=(job.model_path,), strict=False),
)
"""A machine without stubs: enough to test whether a sandbox can be started."""
