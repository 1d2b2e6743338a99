"""The job of a sandbox and its recording. Both travel as JSON between two processes."""

from __future__ import annotations

import enum
import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from operator import attrgetter
from typing import Any

STANDARD_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

CONSENT_OPTION, CONSENT_VARIABLE = "--unconfined", "NPU_ADAPTER_UNCONFINED"
"""How a user allows an unconfined dry run."""
IN_DOCKER = (
    "docker run --security-opt seccomp=unconfined --security-opt systempaths=unconfined "
    "--security-opt apparmor=unconfined"
)
"""How a container allows user namespaces: no filter, no profile, and a /proc of which nothing is hidden."""
ROOT = "/srv/submission"
"""The submission's copy; without namespaces, a path below a temporary folder ends so."""
KIT, HOST = "/usr/local/python3/libexec", "/usr/local/python3/share/host"
"""Where an isolated script has the stubs and the machine's own programs; neither is right below the root."""


class Mode(enum.Enum):
    """How the sandbox protects this machine from the script.

    ISOLATED: namespaces; the script sees a machine of its own. CONFINED: the script sees this machine, but the
    kernel lets it change and reach almost nothing. UNCONFINED: the script may do all that its
    user may; only with consent.
    """

    ISOLATED = "isolated"
    CONFINED = "confined"
    UNCONFINED = "unconfined"


class EndedBy(enum.Enum):
    """How a run of a script ended: by itself, at a limit, or because the sandbox failed.

    SERVER: a server runs and the script stays. LOST: the sandbox itself was killed. COPY: the submission or its
    weights cannot be copied into the sandbox. SETUP: this system does not support the sandbox.
    """

    SERVER = "server"
    EXIT = "exit"
    TIME = "time"
    PROCESSES = "processes"
    MEMORY = "memory"
    OUTPUT = "output"
    RECORDS = "records"
    DISK = "disk"
    LOST = "lost"
    COPY = "copy"
    SETUP = "setup"


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a dry run may use; totals, unless the name says otherwise."""

    wall_s: float = 10.0
    process_cpu_s: int = 10
    processes: int = 96
    memory_bytes: int = 2 * 1024**3
    process_address_bytes: int = 4 * 1024**3
    disk_bytes: int = 256 * 1024**2
    disk_files: int = 20_000
    copied_bytes: int = 512 * 1024**2
    copied_files: int = 60_000
    output_bytes: int = 16 * 1024**2
    kept_output_bytes: int = 64 * 1024
    records: int = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a caller asks of a dry run.

    Attributes:
        shell: the shell's path and options, before the script's name.
        answers: recorded servers answer requests; otherwise they load for ever.
        patience_s: if no server answers, how long the script waits for its server before the run ends.
        folder: the working directory in the machine that the script sees; "" for the script's own folder.
        shown: what the guest knows of the machine that the script sees, as JSON.
        marks: the words that a stub may write as notes.
    """

    shell: tuple[str, ...]
    script: str
    answers: bool = True
    patience_s: float = math.inf
    folder: str = ""
    shown: Mapping[str, Any] = field(default_factory=dict)
    marks: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    limits: Limits = field(default_factory=Limits)


@dataclass(frozen=True, slots=True, kw_only=True)
class Job(Asked):
    """One dry run, with all its places.

    Attributes:
        source: the folder on this machine that is copied.
        weights: the weights folder on this machine; shown read-only, or as a copy with sparse files.
        root, model_path: where the script sees the copy and the weights; below `scratch` unless isolated.
        scratch: an empty folder that belongs to the dry run.
        python: the interpreter for the stubs; `stdlib` its standard library folders.
        libraries: folders of shared libraries that it needs; packages: folders of Python packages to show.
        stranger: the user id of the program where the kit has root's rights, else -1.
    """

    source: str
    weights: str
    weights_inside: str
    model_path: str
    root: str
    scratch: str
    python: str
    stdlib: tuple[str, ...]
    libraries: tuple[str, ...]
    packages: tuple[str, ...]
    mode: Mode
    stranger: int = -1

    @property
    def isolated(self) -> bool:
        return self.mode is Mode.ISOLATED

    @property
    def working_directory(self) -> str:
        """Where the script starts."""
        return f"{self.machine}{self.folder}" if self.folder else self.root

    @property
    def called(self) -> str:
        """The script as the shell's argument: its name in its own folder, else its path."""
        return f"{self.root}/{self.script}" if self.folder else self.script

    @property
    def kit(self) -> str:
        """The folder of the stubs."""
        return KIT if self.isolated else f"{self.scratch}/kit"

    @property
    def script_folders(self) -> tuple[str, ...]:
        """The folders below `scratch` that the script may change, unless it is isolated."""
        return f"{self.scratch}/srv", self.machine

    @property
    def machine(self) -> str:
        """Where the script has /tmp, its home and the folders of the image; a recording leaves the prefix out."""
        return "" if self.isolated else f"{self.scratch}/machine"


class RecordKind(enum.Enum):
    """What a stub recorded: SERVER stays, EXEC and SLEEP have ended, PYTHON is a call (name, JSON arguments)."""

    SERVER = "server"
    EXEC = "exec"
    SLEEP = "sleep"
    PYTHON = "python"


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One command or call that a stub recorded.

    Attributes:
        alive: the process still ran when the dry run ended.
        paths: arguments that name an existing file or folder, with what they resolve to.
        texts: the text of small configuration files among the arguments.
        modules: dotted names on a server's command line whose Python module exists, with its folder.
        cut: the `texts` of which only the beginning was read.
        slept_s: how long all programs together had meant to sleep until then.
    """

    kind: RecordKind
    pid: int
    cwd: str
    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    alive: bool = False
    paths: Mapping[str, str] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)
    cut: tuple[str, ...] = ()
    modules: Mapping[str, str] = field(default_factory=dict)
    slept_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """The result of a dry run.

    Attributes:
        trouble: why the sandbox failed, if the run ended by LOST, COPY or SETUP.
        stderr_after: standard error after the dry run ended the server.
        trace: bash's trace of the commands that it ran (stubs/trace.sh); the script can write there too.
        asked: a program sent a request to a recorded server, or would have.
        slept_s: how long all programs together meant to sleep.
        stricter: why no stricter mode was used; "" if none was tried.
        marks: the marks of `Job.marks` that a stub left, sorted.
        refused_ports: ports that were polled repeatedly while no recorded server listened there.
        unknown_models: models requested from recorded servers that do not serve them, sorted.
    """

    ended_by: EndedBy
    exit_status: int | None = None
    stdout: str = ""
    stderr: str = ""
    records: tuple[Record, ...] = ()
    trouble: str = ""
    stderr_after: str = ""
    trace: str = ""
    asked: bool = False
    slept_s: float = 0.0
    stricter: str = ""
    marks: tuple[str, ...] = ()
    refused_ports: tuple[int, ...] = ()
    unknown_models: tuple[str, ...] = ()


def encoded(message: Job | Recording) -> bytes:
    """The message as JSON; a lone surrogate survives."""
    return json.dumps(asdict(message), default=attrgetter("value")).encode("ascii")


def job_of(data: bytes) -> Job:
    fields = json.loads(data)
    lists = {
        name: tuple(fields[name]) for name in ("shell", "stdlib", "libraries", "packages", "marks")
    }
    special = {"mode": Mode(fields["mode"]), "limits": Limits(**fields["limits"])}
    return Job(**{**fields, **lists, **special})


def recording_of(data: bytes) -> Recording:
    fields = json.loads(data)
    records = tuple(
        Record(**{**entry, "argv": tuple(entry["argv"]), "kind": RecordKind(entry["kind"])})
        for entry in fields.pop("records")
    )
    lists = {name: tuple(fields[name]) for name in ("marks", "refused_ports", "unknown_models")}
    return Recording(
        **{**fields, **lists, "records": records, "ended_by": EndedBy(fields["ended_by"])}
    )
