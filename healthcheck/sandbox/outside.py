"""The sandboxes without namespaces: a copy of the submission, a search path of stubs, a process tree of its own.

In confined mode, Landlock limits the program to its own folders and to what every program of the machine may
read. In both modes, a filter of system calls keeps it from other processes and from the network. If the kit runs
as root, the program and the warden run as another user.
"""

from __future__ import annotations

import itertools
import math
import os
import re
import stat
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from healthcheck.sandbox import landlock, processes, root, safely
from healthcheck.sandbox.guest import Guest
from healthcheck.sandbox.job import STANDARD_PATH, Job, Mode
from healthcheck.sandbox.protocol import NOTES, RUN
from healthcheck.system import files

_STRANGERS, _STRANGERS_SPAN = 0x6B69_0000, 2**22
_CHOWN, _SETGID, _SETUID, _KILL, _ADMIN = 1 << 0, 1 << 6, 1 << 7, 1 << 5, 1 << 21
"""Capability bits of Linux."""
SHARED = (files.SHARED, "/var/tmp", "/dev/shm")  # noqa: S108 - what scripts write to by name
_SCRIPTS = (".sh", ".bash", ".py")
_LARGEST_SCRIPT_BYTES, _MOST_ADDED_BYTES = 1024**2, 64 * 1024
_OF_MACHINE = ("/tmp", "/var/tmp", "/var/log", "/root", "/etc", "/dev")  # noqa: S108 - below a folder of its own
_BEGINS = (
    rb"(?<![\w/.~})`$*?\\-])(?<![\w)}*?\]][\"'])(?!(?<=[\"'])/[\w-]+/(?:[\s{,!]|[dpIsc][\s;'\"{]))"
)
"""At the beginning of a word: not after a quoted part of it, and no pattern of awk or sed."""
_RENAMED = rb"(?:/tmp|/var/tmp|/var/log|/root)(?![\w.-])"
_KIT_ITSELF = Path(__file__).resolve().parents[1]
_MOST_NAMES = 100_000
_DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
_PROGRAMS = "programs"
"""The folder of links to this machine's programs, below the stubs'."""
_OF_USERS = ("/opt", "/usr/local")
"""Folders of the system in which users may have files of their own."""
_READ = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/proc", "/sys")
_ETC = (
    "alternatives", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "ld.so.preload", "localtime", "nsswitch.conf",
    "os-release", "mime.types", "protocols", "services", "terminfo", "inputrc", "passwd", "group", "hosts",
    "hostname", "resolv.conf", "environment", "profile", "profile.d", "bash.bashrc",
    "ssl/certs", "ca-certificates", "timezone", "locale.alias", "default/locale", "gai.conf", "host.conf",
    "lsb-release", "debian_version", "openEuler-release", "system-release",
)  # fmt: skip


def build(job: Job, guest: Guest, copy: safely.Copy) -> None:
    """Create the copies of submission and weights, and the stubs, below the job's scratch folder.

    Raises:
        OSError: the submission or the weights cannot be copied.
    """
    os.makedirs(f"{job.kit}/py/bin")
    os.symlink(job.python, f"{job.kit}/py/bin/python3")
    for folder in _OF_MACHINE:
        os.makedirs(job.machine + folder)
    for start_file in root.START_FILES:
        Path(f"{job.machine}/{start_file}").touch()
    copy.tree(job.source, job.root)
    _rename(job, guest)
    copy.tree(job.weights, job.weights_inside)
    os.makedirs(f"{job.kit}/bin", exist_ok=True)
    guest.install(job, job.kit, (f"{job.kit}/bin",))
    _link_programs(job, guest)
    guest.furnish(job, job.machine)
    if job.stranger >= 0:
        safely.make_world_readable(job.weights_inside)
        for folder in job.script_folders:
            safely.chown_tree(folder, job.stranger)


def _link_programs(job: Job, guest: Guest) -> None:
    """Link the programs of this machine that the image has, for the search path; others are hidden from it."""
    shown = f"{job.kit}/{_PROGRAMS}"
    os.makedirs(shown)
    for folder in STANDARD_PATH.split(":"):
        names = (
            os.listdir(folder)
            if os.path.isdir(folder) and not folder.startswith("/usr/local/")
            else []
        )
        for name in names:
            if not guest.is_absent(job, name) and not os.path.lexists(f"{shown}/{name}"):
                os.symlink(os.path.realpath(f"{folder}/{name}"), f"{shown}/{name}")


def _rename(job: Job, guest: Guest) -> None:
    """Let the copies of scripts name folders of the run's own machine in place of those of the image."""
    machine = os.fsencode(job.machine)
    if re.fullmatch(rb"[\w/.-]+", machine) is None:  # a shell would read it as several words
        return
    begins = re.compile(_BEGINS + rb"(?=" + _RENAMED + rb"|" + guest.renamed + rb")")

    def renamed(text: bytes) -> bytes:
        after = begins.sub(machine, text)
        return after if len(after) - len(text) <= _MOST_ADDED_BYTES else text

    def act(folder: int, name: str, found: os.stat_result) -> None:
        small = stat.S_ISREG(found.st_mode) and found.st_size <= _LARGEST_SCRIPT_BYTES
        if small and name.endswith(_SCRIPTS):
            safely.edit(folder, name, renamed)

    safely.for_each(job.root, act)


def has_roots_rights(mode: Mode) -> bool:
    """Whether this user may change owners and user ids, and for isolation make namespaces; root may lack that."""
    status = Path("/proc/self/status").read_text("ascii", "replace")
    held = int(status.partition("CapEff:")[2].split()[0], 16)
    needed = _CHOWN | _SETGID | _SETUID | _KILL | (_ADMIN if mode is Mode.ISOLATED else 0)
    return os.geteuid() == 0 and held & needed == needed


def stranger(mode: Mode) -> int:
    """A user id that no one else has, for a dry run by root; -1 if this user may not become another."""
    if not has_roots_rights(mode):
        return -1
    ranges = [line.split() for line in Path("/proc/self/uid_map").read_text("ascii").splitlines()]
    wanted = _STRANGERS + os.getpid() % _STRANGERS_SPAN
    for first, _, length in ranges:
        if int(first) <= wanted < int(first) + int(length):
            return wanted
    last = max((int(first) + int(length) for first, _, length in ranges), default=0)
    return last - 2 - os.getpid() % 10_000 if last > 60_000 else -1


def is_world_readable(path: str) -> bool:
    """Whether a user without any rights can read the file or folder."""
    place = Path(os.path.realpath(path))
    if place.is_dir() and not safely.is_readable_by_all(str(place)):
        return False
    return bool(place.stat().st_mode & stat.S_IROTH) and passable(place.parent)


def passable(folder: Path) -> bool:
    """Whether a user without any rights can reach the contents of a folder."""
    return all(up.stat().st_mode & stat.S_IXOTH for up in (folder, *folder.parents))


def room() -> str:
    """Where the scratch folder is made: the default place, if another user can reach it."""
    usual = Path(tempfile.gettempdir()).resolve()
    shared = Path(files.SHARED)
    return (
        files.SHARED
        if os.geteuid() == 0 and not passable(usual) and passable(shared)
        else str(usual)
    )


def starts_programs(folder: str) -> bool:
    """Whether programs may be started from there."""
    return not os.statvfs(folder).f_flag & os.ST_NOEXEC


def environment(job: Job) -> dict[str, str]:
    """The search path, home and temporary folder of these sandboxes."""
    return {
        "PATH": f"{job.kit}/bin:{job.machine}/usr/local/bin:{job.kit}/{_PROGRAMS}",
        "HOME": f"{job.machine}/root",
        "TMPDIR": f"{job.machine}/tmp",  # noqa: S108 - its own
        "PYTHONPATH": f"{job.kit}/hook",
    }


def confine(job: Job) -> None:
    """Limit this process and its descendants to the scratch folder, and to reading what belongs to the system.

    A program that runs as another user may also write in world-writable folders: `sweep` finds its files by their
    owner and removes them.

    Raises:
        OSError: this kernel cannot.
    """
    if job.mode is not Mode.CONFINED:
        return
    if not landlock.abi():
        raise OSError(38, "this kernel has no Landlock")
    etc = (
        [f"/etc/{name}" for name in _ETC]
        if os.geteuid() == 0 and job.stranger < 0
        else _for_all("/etc", job)
    )
    usr = [entry.path for entry in os.scandir("/usr") if entry.path not in _OF_USERS]
    system = [*_READ, *usr, *etc, *(part for folder in _OF_USERS for part in _for_all(folder, job))]
    rights = dict.fromkeys(landlock.existing([*system, *_own(job)]), False)
    shared = SHARED if job.stranger >= 0 else ()
    rights |= dict.fromkeys(landlock.existing([job.scratch]), False)
    changed = (
        *shared,
        *(f"/dev/{name}" for name in _DEVICES),
        *job.script_folders,
        f"{job.kit}/{RUN}/{NOTES}",
    )
    rights |= dict.fromkeys(landlock.existing(changed), True)
    landlock.restrict_files(rights)


def hide_processes(job: Job) -> None:
    """Let a confined process read of /proc what is the machine's: nothing of a process, its own neither.

    Raises:
        OSError: this kernel cannot.
    """
    of_machine = [
        each.path for each in os.scandir("/proc") if not (each.name.isdigit() or each.is_symlink())
    ]
    elsewhere = [place for place in _READ if place != "/proc"]
    places = (
        *of_machine,
        *elsewhere,
        "/usr",
        "/opt",
        "/etc",
        "/dev",
        *SHARED,
        job.scratch,
        *_own(job),
    )
    landlock.restrict_files(dict.fromkeys(landlock.existing(places), True))


def _own(job: Job) -> list[str]:
    return [job.python, *job.stdlib, *job.libraries, str(_KIT_ITSELF)]


def _for_all(place: str, job: Job) -> list[str]:
    """The parts of a folder that every user may read: the folder itself where the program may read no more."""
    private: set[str] = set()
    for folder, folders, names in () if job.stranger >= 0 else os.walk(place):
        private |= {path for name in (*folders, *names) if _is_private(path := f"{folder}/{name}")}
        folders[:] = [name for name in folders if f"{folder}/{name}" not in private]
    closed = private | {
        str(up) for path in private for up in Path(path).parents if up.is_relative_to(place)
    }
    parts = (f"{folder}/{name}" for folder in closed - private for name in os.listdir(folder))
    return (
        [part for part in parts if part not in closed and not os.path.islink(part)]
        if private
        else [place]
    )


def _is_private(path: str) -> bool:
    """Whether this user may read it, and not every user."""
    try:
        mode = os.lstat(path).st_mode
    except OSError:  # it is gone
        return False
    wanted = stat.S_IROTH | stat.S_IXOTH if stat.S_ISDIR(mode) else stat.S_IROTH
    return not stat.S_ISLNK(mode) and mode & wanted != wanted and os.access(path, os.R_OK)


def used_bytes(job: Job, family: Iterable[processes.Process] = (), most: float = math.inf) -> int:
    """Disk space of the dry run in bytes, with unlinked files; counting stops at `most`."""
    total, folders = _unlinked_bytes(family), [job.scratch]
    while folders and total <= most:
        folder = folders.pop()
        for name in safely.names(folder, _MOST_NAMES):
            try:
                found = os.lstat(f"{folder}/{name}")
            except OSError:  # files appear and vanish
                continue
            total += max(4096, found.st_blocks * 512)
            if stat.S_ISDIR(found.st_mode):
                folders.append(f"{folder}/{name}")
    shared = _shared_files(job) if os.geteuid() == job.stranger else ()
    return total + sum(found.st_blocks * 512 for *_, found in shared)


def _unlinked_bytes(family: Iterable[processes.Process]) -> int:
    """Disk space of the files that these processes keep open and that have no name any more."""
    kept = {}
    for process in family:
        folder = f"/proc/{process.pid}/fd"
        for name in safely.names(folder, _MOST_NAMES):
            with suppress(OSError):
                found = os.stat(f"{folder}/{name}")
                if stat.S_ISREG(found.st_mode) and not found.st_nlink:
                    kept[found.st_dev, found.st_ino] = found.st_blocks * 512
    return sum(kept.values())


def _shared_files(job: Job) -> Iterator[tuple[int, str, os.stat_result]]:
    """Files in world-writable folders that belong to the dry run's own user, as `safely.owned` yields them."""
    return itertools.chain.from_iterable(safely.owned(job.stranger, folder) for folder in SHARED)


def become(user: int) -> None:
    """Become a user, with its group and no other; -1 changes nothing."""
    if user >= 0:
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)


def other_processes(job: Job) -> int:
    """How many processes of this user do not belong to the dry run; the limit on processes counts them too."""
    if job.isolated or os.geteuid() == job.stranger:
        return 0
    user = os.geteuid()
    return sum(_owner(name) == user for name in os.listdir("/proc") if name.isdigit())


def _owner(pid: str) -> int:
    try:
        return Path(f"/proc/{pid}").stat().st_uid
    except OSError:
        return -1


def sweep(job: Job) -> None:
    """As root, kill the processes and remove the files of the dry run's own user."""
    if job.stranger < 0:
        return
    for _ in range(50):
        left = [
            int(name)
            for name in os.listdir("/proc")
            if name.isdigit() and _owner(name) == job.stranger
        ]
        if not left:
            break
        for pid in left:
            processes.end(pid)
        processes.reap()
    scratch = (
        os.lstat(job.scratch) if os.path.lexists(job.scratch) else None
    )  # the script may have moved it
    for handle, name, found in _shared_files(job):
        if scratch is None or not os.path.samestat(found, scratch):
            files.remove_in(handle, name)
