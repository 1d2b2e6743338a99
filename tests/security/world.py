"""A host with resources that an attack must not reach, and their state before and after."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import secrets
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import psutil

HERE = Path(__file__).parent
PACKAGE = HERE.parents[1]
SECRET = "CANARY-SECRET-49152"
OF_COMMAND_LINE = "CANARY-OF-A-COMMAND-LINE"
NOBODY = 65534
STRANGERS_PYTHON = "/usr/bin/python3"
SHARED = ("/dev/shm", "/tmp", "/var/tmp")
SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER
LOOK_S = 20.0


@dataclass(frozen=True, slots=True)
class Setup:
    """The user that runs the kit, and missing kernel features; `mode` is the expected mode of the dry run."""

    mode: str
    ordinary: bool = False
    lacks: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return "-".join([self.mode, "user" if self.ordinary else "root", *self.lacks])

    @property
    def keeps_files(self) -> bool:
        """Whether no file outside can be read or changed: false if a user consented to run the script unconfined."""
        return self.mode != "unconfined" or not self.ordinary

    @property
    def lets_kill(self) -> bool:
        """Whether the script may end its own processes: only the user, namespaces or Landlock know which these are."""
        return self.mode != "unconfined" or not self.ordinary


@dataclass
class Host:
    """The targets of an attack; `names` are the words in braces of a script."""

    folder: Path
    names: Mapping[str, str]
    bystander: subprocess.Popen[bytes]
    reached: list[str] = field(default_factory=list)
    before: dict[str, tuple[int, bytes]] = field(default_factory=dict)

    def fill(self, text: str) -> str:
        """Replace the names in braces."""
        for name, value in self.names.items():
            text = text.replace(f"{{{name}}}", value)
        return text

    def state(self) -> dict[str, tuple[int, bytes]]:
        """Modes and contents of everything in the folder of the host."""
        found = {}
        for place in sorted(self.folder.rglob("*")):
            kept = place.lstat()
            found[str(place)] = (
                kept.st_mode,
                place.read_bytes() if stat.S_ISREG(kept.st_mode) else b"",
            )
        return found

    def left(self) -> list[str]:
        """Files of this attack, by its token, in the world-writable folders."""
        token, common = self.names["TOKEN"], self.names["COMMON"]
        places = (*SHARED, common, f"{common}/inner")
        return [
            f"{place}/{name}" for place in places for name in os.listdir(place) if token in name
        ]


@contextlib.contextmanager
def host(base: Path, *, owner: int) -> Iterator[Host]:
    """Targets that belong to one user: files, a server, sockets, a process."""
    folder, token = base / "host", f"canary-{secrets.token_hex(4)}"
    folder.mkdir()
    (folder / "id_rsa").write_text(f"{SECRET}\n")
    (folder / "data.txt").write_text("data\n")
    (folder / "secret.json").write_text(json.dumps({"api": SECRET}))
    (folder / "victim.sh").write_text("#!/bin/sh\n")
    (folder / "fifo-free").mkdir()
    modes = {
        "id_rsa": 0o600,
        "data.txt": 0o644,
        "secret.json": 0o600,
        "victim.sh": 0o755,
        "fifo-free": 0o755,
    }
    for name, mode in modes.items():
        os.chmod(folder / name, mode)
        os.chown(folder / name, owner, owner)
    os.chown(folder, owner, owner)
    with contextlib.suppress(OSError):  # not every file system keeps them
        os.setxattr(folder / "data.txt", "user.origin", SECRET.encode())
    common = tempfile.mkdtemp(prefix="shared-", dir="/tmp")
    os.mkdir(f"{common}/inner")
    os.chmod(common, 0o1777)
    os.chmod(f"{common}/inner", 0o777)
    bystander = subprocess.Popen(
        ["--password=" + OF_COMMAND_LINE, "600"], executable="/bin/sleep",
        user=owner, group=owner, extra_groups=[], start_new_session=True,
    )  # fmt: skip
    reached: list[str] = []
    with contextlib.ExitStack() as services:
        server = services.enter_context(socket.create_server(("127.0.0.1", 0)))
        for place in (f"\0{token}", str(folder / "agent.sock")):
            services.enter_context(local := socket.socket(socket.AF_UNIX)).bind(place)
            local.listen()
            threading.Thread(target=_note, args=(local, reached), daemon=True).start()
        services.enter_context(log := socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)).bind(
            str(folder / "log.sock")
        )
        for target, service in ((_note, server), (_note_what_comes, log)):
            threading.Thread(target=target, args=(service, reached), daemon=True).start()
        for name in ("agent.sock", "log.sock"):
            os.chmod(folder / name, 0o777)
        names = {
            "HOST": str(folder),
            "TOKEN": token,
            "COMMON": common,
            "PORT": str(server.getsockname()[1]),
        }
        names |= {"BYSTANDER": str(bystander.pid), "KIT": str(os.getpid())}
        found = Host(folder, names, bystander, reached)
        found.before = found.state()
        try:
            yield found
        finally:
            bystander.kill()
            bystander.wait()
            for place in found.left():
                shutil.rmtree(place, ignore_errors=True) if os.path.isdir(place) else os.unlink(
                    place
                )
            shutil.rmtree(common)


def _note(listener: socket.socket, reached: list[str]) -> None:
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:
            return
        reached.append(str(listener.getsockname()))
        connection.close()


def _note_what_comes(receiver: socket.socket, reached: list[str]) -> None:
    with contextlib.suppress(OSError):
        while True:
            reached.append(f"{receiver.getsockname()}: {receiver.recv(9)!r}")


def package_for(ordinary: bool, base: Path) -> tuple[str, Path]:
    """An interpreter and a copy of the kit that this user can read."""
    if not ordinary:
        return sys.executable, PACKAGE
    copy = base / "package"
    shutil.copytree(
        PACKAGE / "healthcheck", copy / "healthcheck", ignore=shutil.ignore_patterns("__pycache__")
    )
    for script in ("lacking.py", "dry_run_one.py"):
        shutil.copyfile(HERE / script, copy / script)
    if os.access(
        STRANGERS_PYTHON, os.X_OK
    ):  # this user cannot write there, and would compile it all each time
        subprocess.run([STRANGERS_PYTHON, "-m", "compileall", "-q", str(copy)], check=True)
    subprocess.run(["chmod", "-R", "a+rX", str(copy)], check=True)
    return STRANGERS_PYTHON, copy


@dataclass(frozen=True, slots=True)
class Outcome:
    """The kit's result, and what was left: processes and files."""

    told: Mapping[str, object]
    status: int
    complained: str
    strays: tuple[str, ...]
    folders: tuple[str, ...]


def attack(
    setup: Setup,
    python: str,
    package: Path,
    repo: Path,
    weights: Path,
    temporary: Path,
    *,
    before: Sequence[str] = (),
    **more: object,
) -> Outcome:
    """Dry-run the submission in this setup, started by the command `before`, and look for leftovers."""
    libc = ctypes.CDLL(None)
    here = psutil.Process()
    there = {child.pid for child in here.children(recursive=True)}
    scripts = HERE if package == PACKAGE else package
    lacks = ",".join([*setup.lacks, *(("ordinary",) if setup.ordinary else ())])
    job = {"repo": str(repo), "weights": str(weights), "mode": setup.mode, "wall_s": 4.0, **more}
    command = [
        sys.executable if not setup.ordinary else python,
        "-I",
        str(scripts / "lacking.py"),
        lacks,
    ]
    environment = {
        "PATH": os.environ["PATH"],
        "LACKING_PACKAGE": str(package),
        "TMPDIR": str(temporary),
    }
    environment |= {"A_TOKEN": f"{SECRET}-of-the-environment", "HOME": str(repo.parent / "host")}
    assert libc.prctl(SUBREAPER, 1, 0, 0, 0) == 0
    try:
        done = subprocess.run(
            [*before, *command, python, "-I", str(scripts / "dry_run_one.py"), json.dumps(job)],
            env=environment, cwd="/", capture_output=True, text=True, timeout=180, check=False,
        )  # fmt: skip
        strays = _strays(here, there)
    finally:
        libc.prctl(SUBREAPER, 0, 0, 0, 0)
    told = json.loads(done.stdout) if done.stdout.startswith("{") else {}
    return Outcome(told, done.returncode, done.stderr, strays, tuple(os.listdir(temporary)))


def _strays(here: psutil.Process, before: set[int]) -> tuple[str, ...]:
    """New living processes below this one; waits for those that are just ending."""
    until = time.monotonic() + LOOK_S
    while True:
        left = []
        for child in here.children(recursive=True):
            try:
                if child.pid not in before and child.status() != psutil.STATUS_ZOMBIE:
                    left.append(" ".join(child.cmdline()))
            except psutil.Error:
                continue
        if not left or time.monotonic() > until:
            return tuple(left)
        time.sleep(0.05)
