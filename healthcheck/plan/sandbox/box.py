"""Runs a shell script in the sandbox and brings back what was recorded."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from healthcheck import programs
from healthcheck.errors import KitFailure
from healthcheck.plan.sandbox import plain, tools
from healthcheck.plan.sandbox.job import STANDARD_PATH, Job, Limits, Record, Recording

_ROOT = "/srv/submission"
_STARVED_S = 60.0
"""The sandbox keeps its own limits; this much more for a machine that leaves it no processor."""
WITHOUT_NAMESPACES = (
    "the sandbox has no namespaces here: the network is not cut off, "
    "and programs at absolute paths are the real ones"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What is rehearsed: a script of the tree `source`, under a shell, with weights shown by a chosen name.

    Without `answers`, a server that is started never gets ready.
    """

    source: Path
    script: str
    shell: tuple[str, ...]
    weights: Path
    weights_name: str
    limits: Limits
    answers: bool = True


def rehearse(setting: Setting) -> tuple[Job, Recording]:
    """Run the script in namespaces, or without them where this system does not allow any; a note says so.

    Raises:
        KitFailure: no sandbox can be started at all.
    """
    job, recording = rehearse_isolated(setting)
    if recording.ended_by != "setup":
        return job, recording
    why = "; ".join(recording.notes)
    job, recording = rehearse_plain(setting)
    if recording.ended_by == "setup":
        raise KitFailure(f"no sandbox can be started: {'; '.join(recording.notes)}")
    return job, replace(recording, notes=(*recording.notes, f"no namespaces: {why}"))


def rehearse_isolated(setting: Setting) -> tuple[Job, Recording]:
    """Run the script in namespaces; `ended_by` is "setup" where this system does not allow them."""
    return _rehearse(setting, isolated=True)


def rehearse_plain(setting: Setting) -> tuple[Job, Recording]:
    """Run the script without namespaces; a note says what that means."""
    job, recording = _rehearse(setting, isolated=False)
    return job, replace(recording, notes=(*recording.notes, WITHOUT_NAMESPACES))


def _rehearse(setting: Setting, *, isolated: bool) -> tuple[Job, Recording]:
    scratch = tempfile.mkdtemp(prefix="npu-adapter-rehearsal-")
    try:
        os.chmod(scratch, 0o755)  # noqa: S103 - the rehearsed program may be another user
        job = _job(setting, scratch, isolated=isolated)
        file = Path(scratch).with_suffix(".json")
        file.write_text(json.dumps(asdict(job)), encoding="utf-8")
        try:
            return job, _run(job, str(file))
        finally:
            file.unlink(missing_ok=True)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _job(setting: Setting, scratch: str, *, isolated: bool) -> Job:
    shown, model_path = _weights_places(setting, "" if isolated else f"{scratch}")
    job = Job(
        shell=setting.shell,
        script=setting.script,
        source=str(setting.source),
        weights=str(_cache_root(setting.weights) or setting.weights),
        weights_inside=shown,
        model_path=model_path,
        root=_ROOT if isolated else f"{scratch}{_ROOT}",
        scratch=scratch,
        python=_interpreter(for_strangers=not isolated and os.geteuid() == 0),
        stdlib=_standard_library(),
        libraries=_shared_library(),
        packages=tuple(_packages()),
        isolated=isolated,
        answers=setting.answers,
        limits=setting.limits,
    )
    base = {"PATH": STANDARD_PATH, "HOME": "/root"} if isolated else plain.environment(job)
    ours = {"MODEL_PATH": model_path, "LANG": "C.UTF-8", "PWD": job.root, "USER": "root", "LOGNAME": "root"}
    clock = {} if job.answers else {"BASH_ENV": f"{job.kit}/{tools.LOADING}"}
    return replace(job, environment={**base, **ours, **clock})


def _weights_places(setting: Setting, prefix: str) -> tuple[str, str]:
    """Where the weights (or the cache that they are linked into) are shown, and what MODEL_PATH is then."""
    cache = _cache_root(setting.weights)
    if cache is None:
        place = f"{prefix}/srv/weights/{setting.weights_name}"
        return place, place
    place = f"{prefix}/srv/weights/{setting.weights_name}/{cache.name}"
    return place, f"{place}/{setting.weights.relative_to(cache)}"


def _cache_root(weights: Path) -> Path | None:
    """The folder of a download cache that a snapshot's links lead into (models--…/snapshots/HASH)."""
    if weights.parent.name == "snapshots" and (weights.parent.parent / "blobs").is_dir():
        return weights.parent.parent
    return None


def _interpreter(*, for_strangers: bool) -> str:
    """The interpreter behind the stand-ins; where another user is to run it, one that everyone can reach."""
    base = os.path.realpath(getattr(sys, "_base_executable", None) or sys.executable)
    if for_strangers and not plain.open_to_all(base):
        return programs.find("python3", STANDARD_PATH) or base
    return base


def _standard_library() -> tuple[str, ...]:
    prefix = sys.base_prefix
    if prefix in {"/usr", "/usr/local"}:
        folders = [sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")]
        base = [path.replace(sys.prefix, prefix, 1) if path.startswith(sys.prefix) else path for path in folders]
        return tuple(dict.fromkeys(os.path.realpath(path) for path in base))
    name = f"python{sys.version_info.major}.{sys.version_info.minor}"
    found = [f"{prefix}/{lib}/{name}" for lib in ("lib", "lib64") if os.path.isdir(f"{prefix}/{lib}/{name}")]
    return tuple(found)


def _packages() -> Iterator[str]:
    """Libraries that launchers read their configuration with, from the kit's own environment."""
    for name in ("yaml", "packaging"):
        spec = importlib.util.find_spec(name)
        if spec and spec.submodule_search_locations:
            yield spec.submodule_search_locations[0]


def _shared_library() -> tuple[str, ...]:
    """Folders outside the system that the interpreter itself needs to start."""
    folder = sysconfig.get_config_var("LIBDIR") or ""
    shared = str(sysconfig.get_config_var("LDLIBRARY") or "").endswith(".so")
    return (folder,) if shared and os.path.isdir(folder) and not folder.startswith(("/usr", "/lib")) else ()


def _run(job: Job, file: str) -> Recording:
    command = programs.isolated("healthcheck.plan.sandbox.jail", file)
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env={"PATH": STANDARD_PATH},
            cwd="/",
            timeout=job.limits.wall_s + _STARVED_S,
            check=False,
            start_new_session=True,
        )
    except subprocess.TimeoutExpired:
        return _lost("it did not end in time")
    except OSError as error:
        raise KitFailure(f"cannot start the sandbox: {error}") from error
    if not done.stdout:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        return _lost(said[-1] if said else f"it ended with status {done.returncode}")
    fields = json.loads(done.stdout)
    records = tuple(Record(**{**entry, "argv": tuple(entry["argv"])}) for entry in fields.pop("records"))
    return Recording(**{**fields, "records": records, "notes": tuple(fields["notes"])})


def _lost(why: str) -> Recording:
    return Recording(ended_by="lost", exit_status=None, stdout="", stderr="", records=(), notes=(why,), seconds=0.0)
