"""Runs a shell script in the sandbox and returns its recording."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import signal
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from pathlib import Path

from healthcheck.errors import Blocked, KitFailure
from healthcheck.sandbox import leftovers, outside, protocol
from healthcheck.sandbox.job import (
    CONSENT_OPTION,
    CONSENT_VARIABLE,
    IN_DOCKER,
    ROOT,
    STANDARD_PATH,
    Asked,
    EndedBy,
    Job,
    Mode,
    Recording,
    encoded,
    recording_of,
)
from healthcheck.system import files, programs
from healthcheck.text.messages import joined, msg

_TRIALS = 3
PYTHON = "{python}"
"""As the shell of a setting: the kit's interpreter, wherever the sandbox shows it."""
_STARVED_S, _ENDS_S = 60.0, 10.0
"""How much longer than its own limits the sandbox may take on a machine that gives it no processor."""
NO_SANDBOX = msg(
    "there was no dry run of deploy.sh: here no program can be isolated (no user namespaces) or "
    "confined (no Landlock, which Linux has since 5.13). One of these repairs it: allow user "
    "namespaces ({in_docker}); give {consent_option}, or set {consent_variable}=1, and it runs "
    "with all that this user may do; verify to the stage service or further, which launches it "
    "here anyway",
    in_docker=IN_DOCKER,
    consent_option=CONSENT_OPTION,
    consent_variable=CONSENT_VARIABLE,
)
Box = Callable[["Setting"], tuple[Job, Recording]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting(Asked):
    """What a dry run executes: `script` of the tree `source`, under `shell`, with weights named `weights_name`.

    The program finds `user` as its own name; its rights are those of the mode.

    `entry` is the module that becomes the sandbox; its main() calls `jail.main` with a guest, which reads `shown`.
    `environment` has places of the machine that the program sees.
    """

    source: Path
    weights: Path
    weights_name: str
    user: str = "root"
    entry: str = "healthcheck.sandbox.jail"


def chosen(*, consent: bool = False) -> Box:
    """Choose the strictest sandbox that this system supports, by trying each on a script that does nothing.

    Every dry run of a submission uses the sandbox that was chosen before any part of the submission ran.

    Args:
        consent: without namespaces and Landlock, run the script unconfined.

    Raises:
        Blocked: there is neither, and no consent; or a stricter sandbox can be set up and fails its trial.
        KitFailure: no sandbox can be started at all.
    """
    if not os.path.exists("/proc/self/status"):
        raise Blocked(
            msg(
                "the dry run of deploy.sh needs /proc, which is not mounted here: mount -t proc proc /proc"
            )
        )
    leftovers.remove_abandoned()
    why: list[str] = []
    for mode in Mode:
        if mode is Mode.UNCONFINED and not consent:
            raise Blocked(msg("{no_sandbox} ({why})", no_sandbox=NO_SANDBOX, why=joined("; ", why)))
        trouble = unavailable(mode)
        if not trouble:
            reason = msg("no namespaces: {why}", why=why[0]) if why else ""
            return lambda setting: _run_in(setting, mode, reason)
        why.append(trouble)
    raise KitFailure(msg("no sandbox can be started: {why}", why=joined("; ", why)))


def unavailable(mode: Mode) -> str:
    """Why this system cannot set up the sandbox of a mode; "" if it can.

    A trial that fails after the setup may have lacked processor time or memory. It is repeated, and no weaker
    mode takes its place.

    Raises:
        Blocked: the sandbox can be set up, and every trial failed.
    """
    ends: list[str] = []
    while len(ends) < _TRIALS:
        recording = _tried(mode)
        if recording.ended_by is EndedBy.EXIT:
            return ""
        if recording.ended_by is EndedBy.SETUP:
            return recording.trouble or recording.ended_by.value
        ends.append(": ".join(filter(None, (recording.ended_by.value, recording.trouble))))
    raise Blocked(
        msg(
            "{value} mode failed its trial: {fromkeys} (tried {ends} times). The machine may be "
            "overloaded, for which no weaker mode is chosen. Try again",
            value=mode.value,
            fromkeys=joined("; ", dict.fromkeys(ends)),
            ends=len(ends),
        )
    )


def _tried(mode: Mode) -> Recording:
    """Run a script that does nothing."""
    with tempfile.TemporaryDirectory(prefix=files.prefix(), dir=outside.room()) as folder:
        os.chmod(folder, 0o755)  # noqa: S103 - the sandboxed program may be another user
        Path(folder, "deploy.sh").write_text("true\n", encoding="ascii")
        setting = Setting(  # noqa: S604 - a description; no process is started here
            source=Path(folder), script="deploy.sh", shell=("/bin/sh",), weights=Path(folder),
            weights_name="weights",
        )  # fmt: skip
        return run(setting, mode)[1]


def _run_in(setting: Setting, mode: Mode, reason: str) -> tuple[Job, Recording]:
    """Run the script in the chosen sandbox.

    Raises:
        Blocked: the sandbox can no longer be set up.
    """
    job, recording = run(setting, mode)
    if recording.ended_by is EndedBy.SETUP:
        raise Blocked(
            msg(
                "the sandbox for deploy.sh could not be started again: {trouble}",
                trouble=recording.trouble,
            )
        )
    return job, replace(recording, stricter=reason)


def run(setting: Setting, mode: Mode) -> tuple[Job, Recording]:
    """Run the script in one mode; the recording ends with SETUP if this system does not support the mode.

    Raises:
        Blocked: without namespaces, no program can be started from the temporary folder.
    """
    room = None if mode is Mode.ISOLATED else outside.room()
    if room and not outside.starts_programs(room):
        raise Blocked(
            msg(
                "a sandbox without namespaces starts programs from the temporary folder, and {room} is mounted "
                "noexec: set TMPDIR to a folder that every user can reach and in which programs may run",
                room=room,
            )
        )
    scratch = tempfile.mkdtemp(prefix=files.prefix(), dir=room)
    file = Path(f"{scratch}.json")
    try:
        os.chmod(scratch, 0o755)  # noqa: S103 - the sandboxed program may be another user
        job = _job(setting, scratch, mode)
        file.write_bytes(encoded(job))
        return job, _run(job, setting.entry, str(file))
    finally:
        file.unlink(missing_ok=True)
        files.remove_tree(scratch)


def _job(setting: Setting, scratch: str, mode: Mode) -> Job:
    isolated = mode is Mode.ISOLATED
    shown, model_path = _weights_places(setting, "/srv" if isolated else scratch)
    asked = {each.name: getattr(setting, each.name) for each in fields(Asked)}
    job = Job(
        **asked,
        source=str(setting.source),
        weights=str(_cache_root(setting.weights) or setting.weights),
        weights_inside=shown,
        model_path=model_path,
        root=ROOT if isolated else f"{scratch}{ROOT}",
        scratch=scratch,
        python=_interpreter(for_strangers=not isolated and os.geteuid() == 0),
        stdlib=_standard_library(),
        libraries=_shared_library(),
        packages=tuple(_packages()),
        mode=mode,
    )
    base = {"PATH": STANDARD_PATH, "HOME": "/root"} if isolated else outside.environment(job)
    machine = "" if isolated else job.machine
    places = {
        name: ":".join(machine + each for each in paths.split(":"))
        for name, paths in setting.environment.items()
    }
    ours = {
        "MODEL_PATH": model_path,
        "LANG": "C.UTF-8",
        "PWD": job.working_directory,
        "USER": setting.user,
    }
    ours |= {"LOGNAME": setting.user, "BASH_ENV": f"{job.kit}/{protocol.TRACE}"}
    shell = tuple(f"{job.kit}/py/bin/python3" if word == PYTHON else word for word in job.shell)
    return replace(job, shell=shell, environment={**places, **base, **ours})


def _weights_places(setting: Setting, prefix: str) -> tuple[str, str]:
    """The folder that shows the weights (or the download cache they link into), and the value of MODEL_PATH."""
    cache = _cache_root(setting.weights)
    if cache is None:
        place = f"{prefix}/weights/{setting.weights_name}"
        return place, place
    place = f"{prefix}/weights/{setting.weights_name}/{cache.name}"
    return place, f"{place}/{setting.weights.relative_to(cache)}"


def _cache_root(weights: Path) -> Path | None:
    """The folder of a download cache (models--…/snapshots/HASH) that the links of a snapshot lead into."""
    if weights.parent.name == "snapshots" and (weights.parent.parent / "blobs").is_dir():
        return weights.parent.parent
    return None


def _interpreter(*, for_strangers: bool) -> str:
    """The interpreter for the stubs; `for_strangers` takes one that every user can execute."""
    base = os.path.realpath(getattr(sys, "_base_executable", None) or sys.executable)
    if for_strangers and not outside.is_world_readable(base):
        return programs.find("python3", STANDARD_PATH) or base
    return base


def _standard_library() -> tuple[str, ...]:
    prefix = sys.base_prefix
    if prefix in {"/usr", "/usr/local"}:
        folders = [sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")]
        base = [
            path.replace(sys.prefix, prefix, 1) if path.startswith(sys.prefix) else path
            for path in folders
        ]
        return tuple(dict.fromkeys(os.path.realpath(path) for path in base))
    name = f"python{sys.version_info.major}.{sys.version_info.minor}"
    found = [
        f"{prefix}/{lib}/{name}"
        for lib in ("lib", "lib64")
        if os.path.isdir(f"{prefix}/{lib}/{name}")
    ]
    return tuple(found)


def _packages() -> Iterator[str]:
    """Folders of the libraries that launchers read their configuration with, from the kit's own environment."""
    for name in ("yaml", "packaging"):
        spec = importlib.util.find_spec(name)
        if spec and spec.submodule_search_locations:
            yield spec.submodule_search_locations[0]


def _shared_library() -> tuple[str, ...]:
    """The folder of libpython, if the interpreter needs one outside the system's folders to start."""
    folder = sysconfig.get_config_var("LIBDIR") or ""
    shared = str(sysconfig.get_config_var("LDLIBRARY") or "").endswith(".so")
    return (
        (folder,)
        if shared and os.path.isdir(folder) and not folder.startswith(("/usr", "/lib"))
        else ()
    )


def _run(job: Job, entry: str, file: str) -> Recording:
    command = programs.isolated(entry, file)
    try:
        jail = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={"PATH": STANDARD_PATH},
            cwd="/",
            start_new_session=True,
        )
    except OSError as error:
        raise KitFailure(msg("cannot start the sandbox: {error}", error=error)) from error
    try:
        said, complained = jail.communicate(timeout=job.limits.wall_s + _STARVED_S)
    except subprocess.TimeoutExpired:
        return Recording(ended_by=EndedBy.LOST, trouble=msg("it did not end in time"))
    finally:
        _end(jail)
        leftovers.end_processes(job.scratch)
    if not said:
        lines = complained.decode("utf-8", "replace").strip().splitlines()
        why = (
            lines[-1]
            if lines
            else msg("it ended with status {returncode}", returncode=jail.returncode)
        )
        return Recording(ended_by=EndedBy.LOST, trouble=why)
    prefix = json.dumps(job.machine)[1:-1].encode("ascii")
    return recording_of(said.replace(prefix, b"") if prefix else said)


def _end(jail: subprocess.Popen[bytes]) -> None:
    """Let the sandbox end its processes and wait for it; kill it if that takes too long."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        if jail.poll() is not None:
            break
        jail.send_signal(number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            jail.communicate(timeout=_ENDS_S)
