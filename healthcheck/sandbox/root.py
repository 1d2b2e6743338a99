"""Builds the machine that the sandboxed program sees: a clean image with recording stubs in it."""

from __future__ import annotations

import contextlib
import os
import shutil
from pathlib import Path

from healthcheck.sandbox import kernel, safely
from healthcheck.sandbox.guest import Guest
from healthcheck.sandbox.job import HOST, KIT, Job
from healthcheck.sandbox.protocol import HOST_NAME
from healthcheck.text.messages import msg

_SHOWN = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
_PROGRAM_FOLDERS = {"/usr/bin", "/usr/sbin", "/bin", "/sbin"}
_ETC = (
    "alternatives", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "localtime", "nsswitch.conf", "os-release",
    "mime.types", "protocols", "services", "terminfo", "inputrc",
)  # fmt: skip
_ETC_FOLDERS = ("default", "profile.d", "security", "sysctl.d")
_ETC_TEXTS = {
    "passwd": "root:x:0:0:root:/root:/bin/bash\nnobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n",
    "group": "root:x:0:\n",
    "hosts": "127.0.0.1 localhost\n::1 localhost\n",
    "hostname": f"{HOST_NAME}\n",
    "resolv.conf": "",
    "environment": "",
    "sysctl.conf": "",
    "security/limits.conf": "",
    "profile": "",
    "bash.bashrc": "",
}
START_FILES = ("root/.profile", "root/.bashrc")
OF_ROOT = (
    "", "opt", "srv", "mnt", "home", "run", "var", "var/log", "tmp", "dev/shm", "root", *START_FILES,
    "etc", *(f"etc/{name}" for name in (*_ETC_FOLDERS, *_ETC_TEXTS)),
    "usr/local", "usr/local/bin", "usr/local/sbin", "usr/local/share", "usr/local/include", "usr/local/etc",
    "usr/bin", "usr/sbin",
)  # fmt: skip
"""What root may change in an image, and the sandboxed program here; all of it exists in the sandbox only."""
_PROCESSORS = "/sys/devices/system"
_DEVICES = ("null", "zero", "full", "random", "urandom")


def build(job: Job, guest: Guest, new_root: str, copy: safely.Copy) -> None:
    """Build the machine below `new_root` in our own mount namespace, with room for the files to be copied."""
    kernel.mount(msg("none"), "/", flags=kernel.MS_REC | kernel.MS_PRIVATE)
    size, files = (
        job.limits.disk_bytes + copy.bytes + 4096 * copy.files,
        job.limits.disk_files + copy.files,
    )
    data = f"size={size},nr_inodes={files},mode=755"
    kernel.mount("tmpfs", new_root, "tmpfs", kernel.MS_NOSUID, data)
    for folder in (
        "tmp",
        "var/tmp",
        "root",
        "run",
        "proc",
        "dev",
        "etc",
        "srv",
        "opt",
        "home",
        "mnt",
        "var/log",
    ):
        os.makedirs(f"{new_root}/{folder}")
    _system(job, new_root, guest)
    _etc(new_root)
    if os.path.isdir(_PROCESSORS):
        os.makedirs(new_root + _PROCESSORS)
        kernel.bind_read_only(_PROCESSORS, new_root + _PROCESSORS)
    _dev(new_root)
    _python(job, new_root + KIT)
    guest.install(job, new_root + KIT, (f"{new_root}/usr/local/bin", f"{new_root}/usr/bin"))
    guest.furnish(job, new_root)
    Path(f"{new_root}/.dockerenv").touch()
    for folder in ("tmp", "var/tmp", "dev/shm"):
        os.chmod(f"{new_root}/{folder}", 0o1777)  # noqa: S103 - as on any machine


def fill(job: Job, new_root: str, copy: safely.Copy) -> None:
    """Copy the submission and show the weights.

    Raises:
        OSError: that failed.
    """
    copy.tree(job.source, new_root + job.root)
    place = new_root + job.weights_inside
    os.makedirs(place)
    if copies_weights(job):
        copy.tree(job.weights, place)
        safely.make_world_readable(place)
    else:
        kernel.show_read_only(job.weights, place)


def copies_weights(job: Job) -> bool:
    """Whether other users may not read the weights, so that the program sees a sparse copy."""
    return os.geteuid() == 0 and not safely.is_readable_by_all(job.weights)


def give_away(job: Job, guest: Guest, new_root: str) -> None:
    """Give the program's user the files that root may change in an image."""
    for tree in (job.root, *guest.owned):
        safely.chown_tree(new_root + tree.rstrip("/"), job.stranger)
    for place in (*guest.owned_alone, *(f"/{name}" for name in OF_ROOT)):
        safely.chown_one(new_root + place.rstrip("/"), job.stranger)


def show_processes(new_root: str) -> None:
    """Mount a read-only /proc of the sandbox's processes."""
    kernel.mount(
        "proc", f"{new_root}/proc", "proc", kernel.MS_NOSUID | kernel.MS_NODEV | kernel.MS_RDONLY
    )


def _system(job: Job, new_root: str, guest: Guest) -> None:
    for name in _SHOWN:
        if os.path.islink(name):
            os.symlink(os.readlink(name), new_root + name)
        elif name == "/usr":
            _usr(job, new_root, guest)
        elif os.path.isdir(name):
            _folder(job, name, new_root, guest)


def _usr(job: Job, new_root: str, guest: Guest) -> None:
    for entry in sorted(os.listdir("/usr")):
        if entry != "local":
            _folder(job, f"/usr/{entry}", new_root, guest)
    for entry in ("bin", "sbin", "lib", "share", "include", "etc"):
        os.makedirs(f"{new_root}/usr/local/{entry}")
    for entry in ("lib", "lib64"):
        if os.path.isdir(f"/usr/local/{entry}") and not os.path.islink(f"/usr/local/{entry}"):
            os.makedirs(f"{new_root}/usr/local/{entry}", exist_ok=True)
            kernel.bind_read_only(f"/usr/local/{entry}", f"{new_root}/usr/local/{entry}")


def _folder(job: Job, path: str, new_root: str, guest: Guest) -> None:
    """Show a system folder. A folder of programs becomes links, so that single programs can be left out.

    A program that is itself a link, as awk is to mawk or gawk, is linked to what it leads to: that may be left out.
    """
    if os.path.islink(path):
        os.symlink(os.readlink(path), new_root + path)
        return
    if not os.path.isdir(path):
        return
    os.makedirs(new_root + path)
    if os.path.basename(path) not in {"bin", "sbin"}:
        kernel.bind_read_only(path, new_root + path)
        return
    behind = HOST + path
    os.makedirs(new_root + behind)
    kernel.bind_read_only(path, new_root + behind)
    for name in os.listdir(path):
        if not guest.is_absent(job, name):
            real = os.path.realpath(f"{path}/{name}")
            place = (
                f"{HOST}{real}" if os.path.dirname(real) in _PROGRAM_FOLDERS else f"{behind}/{name}"
            )
            os.symlink(place, f"{new_root}{path}/{name}")


def _etc(new_root: str) -> None:
    for name in _ETC:
        source, target = f"/etc/{name}", f"{new_root}/etc/{name}"
        if os.path.isdir(source):
            os.mkdir(target)
            kernel.bind_read_only(source, target)
        elif os.path.isfile(source) and os.path.getsize(source) < 1024**2:
            shutil.copyfile(source, target)
    for name in _ETC_FOLDERS:
        os.mkdir(f"{new_root}/etc/{name}")
    for name, text in _ETC_TEXTS.items():
        Path(f"{new_root}/etc/{name}").write_text(text, encoding="ascii")
    for start_file in START_FILES:
        Path(f"{new_root}/{start_file}").touch()


def _dev(new_root: str) -> None:
    for name in _DEVICES:
        Path(f"{new_root}/dev/{name}").touch()
        kernel.mount(f"/dev/{name}", f"{new_root}/dev/{name}", flags=kernel.MS_BIND)
    os.makedirs(f"{new_root}/dev/shm")  # noqa: S108 - in the sandbox
    _terminals(f"{new_root}/dev")
    os.symlink("/proc/self/fd", f"{new_root}/dev/fd")
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        os.symlink(f"/proc/self/fd/{number}", f"{new_root}/dev/{name}")


def _terminals(dev: str) -> None:
    """Create pseudo-terminals, for script(1) and similar programs; skipped where the system refuses."""
    os.makedirs(f"{dev}/pts")
    flags = kernel.MS_NOSUID | kernel.MS_NOEXEC
    with contextlib.suppress(OSError):
        kernel.mount("devpts", f"{dev}/pts", "devpts", flags, "newinstance,ptmxmode=0666,mode=620")
        os.symlink("pts/ptmx", f"{dev}/ptmx")


def _python(job: Job, kit: str) -> None:
    """Show the interpreter for the stubs in its own copy of the folder layout."""
    os.makedirs(f"{kit}/py/bin")
    Path(f"{kit}/py/bin/python3").touch()
    kernel.show_read_only(job.python, f"{kit}/py/bin/python3")
    for folder in job.stdlib:
        target = f"{kit}/py/{os.path.basename(os.path.dirname(folder))}/{os.path.basename(folder)}"
        os.makedirs(target, exist_ok=True)
        kernel.show_read_only(folder, target)
    for number, folder in enumerate(job.libraries):
        place = kit.removesuffix(KIT) + folder
        if not os.path.isdir(place):
            os.makedirs(os.path.dirname(place), exist_ok=True)
            os.symlink(f"{KIT}/py/shared{number}", place)
            os.mkdir(f"{kit}/py/shared{number}")
            kernel.show_read_only(folder, f"{kit}/py/shared{number}")
