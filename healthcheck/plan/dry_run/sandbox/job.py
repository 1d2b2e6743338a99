"""What a sandbox is asked to do, and what it brings back. Both travel as JSON between two processes."""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

STANDARD_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

IMAGE_SOURCES = "/vllm-workspace/"
IMAGE_FOLDERS = (f"{IMAGE_SOURCES}vllm", f"{IMAGE_SOURCES}vllm-ascend", "/workspace")
"""Folders of the official vllm-ascend image, the last one empty; which image the service has is unknown.

Source: its Dockerfile.
"""
IMAGE_PACKAGES = "/usr/local/python3/lib/python3/site-packages/"
"""Where the stubs of libraries say that they are installed: the folders are there, and few of the files."""

CONSENT_OPTION, CONSENT_VARIABLE = "--unconfined", "NPU_ADAPTER_UNCONFINED"
"""How a user allows a dry run that nothing confines."""
KIT, HOST = "/usr/local/python3/libexec", "/usr/local/python3/share/host"
"""Where an isolated script has the stubs, and the machine's own programs; nothing right below the root."""
REFUSED, UNKNOWN_MODEL = "refused:", "unknown-model:"
"""Begin notes on a port at which a program polled without an answer, and on a model (as in an address)."""

FILE_VARIABLES = frozenset((
    "VLLM_LOGGING_CONFIG_PATH", "RANK_TABLE_FILE", "RANKTABLEFILE", "DISAGGREGATED_PREFILL_RANK_TABLE_PATH",
    "MOONCAKE_CONFIG_PATH", "LMCACHE_CONFIG_FILE", "MMC_LOCAL_CONFIG_PATH", "UCM_CONFIG_FILE",
))  # fmt: skip
"""Environment variables that name a file which a library opens."""


class Mode(enum.Enum):
    """How a script is kept from the machine that the dry run is on.

    ISOLATED: namespaces, so that it sees a machine of its own. CONFINED: this machine, of which the kernel lets it
    change and reach next to nothing. UNCONFINED: this machine with all that its user may do; only with consent.
    """

    ISOLATED = "isolated"
    CONFINED = "confined"
    UNCONFINED = "unconfined"


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How much a dry run may use, in total unless it says otherwise."""

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
class ShownDevices:
    """The NPUs that the stubs show: `count` devices of one kind, one 910B3 where nothing else is known.

    Attributes:
        per_card: devices of one card.
        name: as npu-smi prints it; `soc` as torch_npu does.
        memory_mib: of one device, as npu-smi prints it; `usable_bytes` is torch_npu's total.
        table: layout of npu-smi: "hbm" (910A and 910B), "dies" (A3), "no-hbm" (310, 310P, 310B) or "wide" (950).
    """

    count: int = 1
    per_card: int = 1
    name: str = "910B3"
    soc: str = "Ascend910B3"
    memory_mib: int = 65536
    usable_bytes: int = 65455301591
    bfloat16: bool = True
    table: str = "hbm"


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """What the stubs know of the image and the machine. The stubs read it as JSON.

    Attributes:
        versions: of the packages in the image as pip names them; `python_versions` by module, where `__version__`
            differs from that.
        cuda_only: packages that need CUDA, with their modules.
    """

    versions: Mapping[str, str] = field(default_factory=dict)
    python_versions: Mapping[str, str] = field(default_factory=dict)
    cuda_only: Mapping[str, Sequence[str]] = field(default_factory=dict)
    devices: ShownDevices = field(default_factory=ShownDevices)


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One dry run.

    Attributes:
        shell: the shell's path and options, before the script's name.
        source: the folder on this machine that is copied.
        weights: the weights folder on this machine; shown read-only.
        root, model_path: where both are seen; the isolated sandbox chooses its own names, the others keep them
            below `scratch`.
        scratch: an empty folder that belongs to the dry run.
        python: the interpreter behind the stubs; `stdlib` its standard library folders.
        libraries: folders of shared libraries that it needs; packages: folders of Python packages to show.
        stranger: the user id that it runs under where the kit has root's rights, else -1.
        answers: a recorded server answers who asks it; without, it is one that loads for ever.
        image: what the stubs know of the image and the machine.
    """

    shell: tuple[str, ...]
    script: str
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
    answers: bool = True
    image: Image = field(default_factory=Image)
    environment: Mapping[str, str] = field(default_factory=dict)
    limits: Limits = field(default_factory=Limits)

    @property
    def isolated(self) -> bool:
        """Whether it has a machine of its own."""
        return self.mode is Mode.ISOLATED

    @property
    def kit(self) -> str:
        """Where the stubs are."""
        return KIT if self.isolated else f"{self.scratch}/kit"

    @property
    def script_folders(self) -> tuple[str, ...]:
        """What the script may change of its scratch folder, where it is not isolated."""
        return f"{self.scratch}/srv", f"{self.scratch}/home", f"{self.kit}/packages"


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One command or call that a stub recorded.

    Attributes:
        kind: "server" stays, "exec" came and went, "python" is a call (argv holds its name and JSON arguments).
        alive: the process still ran when the dry run ended.
        paths: arguments that name something that exists, with what they resolve to.
        texts: the text of small configuration files among the arguments.
        modules: dotted names on a server's command line whose Python module is there, with the folder.
        cut: those of them of which only the beginning was read.
    """

    kind: str
    pid: int
    cwd: str
    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    alive: bool = False
    paths: Mapping[str, str] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)
    cut: tuple[str, ...] = ()
    modules: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """What a dry run brought back.

    Attributes:
        ended_by: as in facts.ShellRun; "setup" where this system has no such sandbox; "copy" where the submission
            or its weights cannot be copied into it.
        stderr_after: what was said after the server was ended for the dry run's sake.
        asked: a program asked a recorded server, or would have.
        slept_s: how long all programs together meant to sleep.
        network: the program could reach the network.
    """

    ended_by: str
    exit_status: int | None
    stdout: str
    stderr: str
    records: tuple[Record, ...]
    notes: tuple[str, ...]
    seconds: float
    stderr_after: str = ""
    asked: bool = False
    slept_s: float = 0.0
    network: bool = False
