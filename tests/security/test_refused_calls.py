"""Without namespaces, the kernel itself refuses what reaches other processes and services.

Each call is made outside first, where it does its harm; so the attack is sound, and the sandbox stops it.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import psutil
import pytest

from tests.security.attacks import FLIP
from tests.security.world import NOBODY, SECRET, STRANGERS_PYTHON, Host, Setup, attack
from tests.support.daily import every

SETUPS = (
    Setup("confined", lacks=("userns",)),
    Setup("confined", ordinary=True, lacks=("userns",)),
    Setup("unconfined", lacks=("landlock", "userns")),
    Setup("unconfined", ordinary=True, lacks=("landlock", "userns")),
)
CALLS = """
import ctypes, errno, fcntl, os, socket, struct, sys
other, file, weights = int(sys.argv[1]), sys.argv[2], sys.argv[3]
libc = ctypes.CDLL(None, use_errno=True)
def call(name, *words):
    done = libc.syscall(*words)
    print(name, errno.errorcode[ctypes.get_errno()] if done < 0 else 0)
def python(name, act):
    try:
        act()
        print(name, 0)
    except OSError as error:
        print(name, errno.errorcode[error.errno])
text = ctypes.create_string_buffer
machine = os.uname().machine == "x86_64"
N = dict(setpriority=(141, 140), ioprio=(251, 30), policy=(144, 119), memfd=(319, 279), shm=(29, 194), watch=(294, 26))
N = {name: numbers[not machine] for name, numbers in N.items()}
python("tcp", lambda: socket.socket())
python("local", lambda: socket.socket(1))
python("datagram", lambda: socket.socketpair(1, 2))
python("pair", lambda: socket.socketpair())
call("nice", N["setpriority"], 0, other, 19)
if "inside" in sys.argv:  # outside, it would change every process of this user
    call("nice-of-user", N["setpriority"], 2, 0, 19)
    call("shm", N["shm"], 0, 4096, 0o1600)  # a segment would stay
call("own-nice", N["setpriority"], 0, 0, 19)
call("io", N["ioprio"], 1, other, 3 << 13)
python("processors", lambda: os.sched_setaffinity(other, {min(os.sched_getaffinity(0))}))
call("policy", N["policy"], other, 5, text(struct.pack("i", 0)))
call("memfd", N["memfd"], b"x", 0)
call("watch", N["watch"], 0)
def flags():
    handle = os.open(file, os.O_RDONLY)
    fcntl.ioctl(handle, 0x40086602, struct.pack("l", 0x40))
python("flags", flags)
python("mode", lambda: os.chmod(weights + "/config.json", 0o640))
"""
OUTSIDE = {
    "tcp": "0", "local": "0", "datagram": "0", "pair": "0", "nice": "0", "own-nice": "0", "io": "0", "processors": "0",
    "policy": "0", "memfd": "0", "watch": "0", "mode": "0",
}  # fmt: skip
"""Of the control; the flags of a file depend on the file system."""
REFUSED = {
    "tcp": "EUNATCH", "local": "EUNATCH", "datagram": "EUNATCH", "pair": "0", "nice": "ESRMNT",
    "nice-of-user": "ESRMNT", "own-nice": "0", "io": "ESRMNT", "processors": "ESRMNT", "policy": "ESRMNT",
    "memfd": "EXFULL", "shm": "EXFULL", "watch": "ENOSYS",
}  # fmt: skip
LISTENS = """
import socket, sys, time
server = socket.create_server(("0.0.0.0", int(sys.argv[1])))
until = time.monotonic() + 3
server.settimeout(3)
peer = server.accept()[0]
"""
DEPUTY = """
import socket, sys
for host, family in (("127.0.0.2", socket.AF_INET), ("::1", socket.AF_INET6)):
    try:
        own = socket.create_server((host, int(sys.argv[1])), family=family)
        socket.create_connection(("127.0.0.1", int(sys.argv[1])), 1).send(b"x")
    except OSError as error:
        print(error)
"""
READS = """
import sys
for name in sys.argv[1:]:
    try:
        print(open(name).read().strip())
    except OSError:
        print("-")
"""
FAMILIES = """
import ctypes, errno, os, socket
libc = ctypes.CDLL(None, use_errno=True)
def tried(act):
    try:
        return act() and 0
    except OSError as error:
        return errno.errorcode[error.errno]
def segment():
    made = libc.shmget(0, 4096, 0o1600)
    if made < 0:
        raise OSError(ctypes.get_errno(), "")
    libc.shmctl(made, 0, None)
    return 1
print(tried(lambda: socket.socket(40, 1)), tried(lambda: os.memfd_create("x")), tried(segment))
"""


def outside(setup: Setup, world: Host, name: str, *words: str) -> str:
    """Run a program of the attack as the user who starts the kit, and return what it prints."""
    user = NOBODY if setup.ordinary else os.geteuid()
    done = subprocess.run(
        (STRANGERS_PYTHON, "-I", str(world.folder.parent / "repo" / name), *words),
        user=user, group=user, extra_groups=[], capture_output=True, text=True, timeout=60, check=False, cwd="/",
    )  # fmt: skip
    return done.stdout


def inside(
    setup: Setup, world: Host, packages: dict[bool, tuple[str, Path]], name: str, *words: str
) -> dict[str, object]:
    base = world.folder.parent
    command = " ".join((STRANGERS_PYTHON, "-I", name, *words))
    (base / "repo/deploy.sh").write_text(f"#!/bin/bash\n{command}\nexit 1\n")
    shown = attack(
        setup,
        *packages[setup.ordinary],
        base / "repo",
        base / "weights",
        base / "temporary",
        wall_s=8.0,
    )
    assert shown.told.get("mode") == setup.mode, shown
    return dict(shown.told)


def write(world: Host, name: str, text: str) -> None:
    (world.folder.parent / "repo" / name).write_text(world.fill(text))


pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(
        os.geteuid() != 0 or not os.access(STRANGERS_PYTHON, os.X_OK), reason="two users take root"
    ),
]


def changed(pid: int) -> tuple[object, ...]:
    process = psutil.Process(pid)
    return (
        process.nice(),
        tuple(process.cpu_affinity()),
        process.ionice(),
        os.sched_getscheduler(pid),
    )


@pytest.mark.parametrize("setup", every(2, SETUPS))
def test_calls_that_name_others_fail(
    setup: Setup, world: Host, packages: dict[bool, tuple[str, Path]]
) -> None:
    write(world, "calls.py", CALLS)
    weights = world.folder.parent / "weights"
    words = (world.names["BYSTANDER"], f"{weights}/config.json", str(weights))
    within = (words[0], '"$MODEL_PATH/config.json"', '"$MODEL_PATH"', "inside")
    before = changed(world.bystander.pid), (weights / "config.json").stat().st_mode
    told = inside(setup, world, packages, "calls.py", *within)
    said = dict(line.split(" ") for line in str(told["stdout"]).splitlines())
    assert {name: said[name] for name in REFUSED} == REFUSED, told
    assert said["flags"] in ({"ENOANO"} if setup.ordinary else {"EPERM", "EACCES", "ENOTTY"})
    assert said["mode"] == ("ENOANO" if setup.ordinary else "EPERM")
    assert (changed(world.bystander.pid), (weights / "config.json").stat().st_mode) == before
    control = dict(
        line.split(" ") for line in outside(setup, world, "calls.py", *words).splitlines()
    )
    assert {name: control[name] for name in OUTSIDE} == OUTSIDE
    assert changed(world.bystander.pid) != before[0]


@pytest.mark.parametrize("setup", every(2, SETUPS))
@pytest.mark.parametrize("name", ["deputy.py", "flip.py"])
def test_a_service_of_the_host_is_not_reached(
    name: str, setup: Setup, world: Host, packages: dict[bool, tuple[str, Path]]
) -> None:
    """By its port number at another address, and by an address that a second thread changes."""
    write(world, name, {"deputy.py": DEPUTY, "flip.py": FLIP}[name])
    word = {"deputy.py": world.names["PORT"], "flip.py": "local"}[name]
    inside(setup, world, packages, name, word)
    assert not world.reached
    for _ in range(20):  # the second thread may be late
        if not world.reached:
            outside(setup, world, name, word)
            time.sleep(0.2)
    assert world.reached


@contextmanager
def knocking(port: int) -> Iterator[list[int]]:
    """Connect to a port of this machine, again and again; the list has a number for each success."""
    reached, over = [], threading.Event()

    def knock() -> None:
        while not over.is_set():
            with suppress(OSError), closing(socket.create_connection(("127.0.0.1", port), 1)):
                reached.append(port)
            over.wait(0.05)

    thread = threading.Thread(target=knock)
    thread.start()
    try:
        yield reached
    finally:
        over.set()
        thread.join()


@pytest.mark.parametrize("setup", every(2, SETUPS))
def test_nobody_outside_reaches_the_script(
    setup: Setup, world: Host, packages: dict[bool, tuple[str, Path]]
) -> None:
    write(world, "listens.py", LISTENS)
    with closing(socket.create_server(("127.0.0.1", 0))) as free:
        port = free.getsockname()[1]
    with knocking(port) as reached:
        inside(setup, world, packages, "listens.py", str(port))
    assert not reached
    with knocking(port) as reached:
        outside(setup, world, "listens.py", str(port))
    assert reached


@pytest.fixture
def shelves(world: Host) -> Iterator[list[Path]]:
    """Folders of the system with a public and a private file of the user who starts the kit."""
    made = [Path(folder, world.names["TOKEN"]) for folder in ("/opt", "/usr/local/share", "/etc")]
    for shelf in made:
        (shelf / "deeper").mkdir(parents=True)
        (shelf / "closed/open").mkdir(parents=True)
        contents = (
            ("public", "SHOWN", 0o644), ("deeper/private", SECRET, 0o600), ("closed/open/public", SECRET, 0o644),
            ("closed/open/private", SECRET, 0o600),
        )  # fmt: skip
        for name, text, mode in contents:
            (shelf / name).write_text(f"{text}\n")
            (shelf / name).chmod(mode)
            os.chown(shelf / name, NOBODY, NOBODY)
        (shelf / "closed").chmod(0o700)
        os.chown(shelf / "closed", NOBODY, NOBODY)
        (shelf / "link").symlink_to(world.folder / "id_rsa")
    yield made
    for shelf in made:
        shutil.rmtree(shelf)


@pytest.mark.parametrize("setup", [Setup("confined", ordinary=True, lacks=("userns",))])
def test_private_files_in_folders_of_the_system_are_not_read(
    setup: Setup, shelves: list[Path], world: Host, packages: dict[bool, tuple[str, Path]]
) -> None:
    kept = ("deeper/private", "closed/open/public", "closed/open/private", "link")
    names = [str(shelf / name) for shelf in shelves for name in ("public", *kept)]
    write(world, "reads.py", READS)
    assert (
        str(inside(setup, world, packages, "reads.py", *names)["stdout"]).split()
        == ["SHOWN", "-", "-", "-", "-"] * 3
    )
    assert (
        outside(setup, world, "reads.py", *names).split()
        == ["SHOWN", SECRET, SECRET, SECRET, SECRET] * 3
    )


@pytest.mark.parametrize(
    "setup", [Setup("isolated"), Setup("isolated", ordinary=True), *SETUPS], ids=lambda s: s.name
)
def test_no_socket_leads_to_the_hypervisor_and_no_memory_is_without_an_owner(
    setup: Setup, world: Host, packages: dict[bool, tuple[str, Path]]
) -> None:
    write(world, "families.py", FAMILIES)
    said = str(inside(setup, world, packages, "families.py")["stdout"]).split()
    assert said[0] in {"EAFNOSUPPORT", "EUNATCH"}
    assert said[1:] == ["EXFULL", "EXFULL"]
    assert outside(setup, world, "families.py").split()[1:] == ["0", "0"]
