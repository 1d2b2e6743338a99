"""The process that becomes the sandbox: `python -m healthcheck.plan.sandbox.jail JOB`, the recording on its stdout.

As root, the file system is built with full rights and the program gets a user namespace in which it is an
unprivileged user that no one else is; otherwise everything is built inside a user namespace. Either way the
program has no capability, its own processes, network and mounts, and ends when this process ends.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import socket
import sys
import time
from dataclasses import asdict, replace
from pathlib import Path

from healthcheck.plan.sandbox import kernel, plain, processes, root
from healthcheck.plan.sandbox.job import IMAGE_FOLDERS, IMAGE_PACKAGES, IMAGE_SOURCES, Job, Limits, Recording
from healthcheck.plan.sandbox.plain import STRANGER
from healthcheck.plan.sandbox.watch import Output, Watch
from healthcheck.plan.standins.note import HOST_NAME

_SPACES = kernel.CLONE_NEWNS | kernel.CLONE_NEWPID | kernel.CLONE_NEWNET | kernel.CLONE_NEWIPC | kernel.CLONE_NEWUTS


def main() -> None:
    with open(sys.argv[1], encoding="utf-8") as file:
        fields = json.load(file)
    limits = Limits(**fields.pop("limits"))
    lists = {name: tuple(fields[name]) for name in ("shell", "stdlib", "libraries", "packages")}
    job = Job(**{**fields, **lists}, limits=limits)
    answer = os.dup(1)
    kernel.die_with_parent(signal.SIGKILL)
    signal.alarm(int(limits.wall_s) + 5)
    recording = _isolated(job) if job.isolated else _run(job)
    with open(answer, "w", encoding="utf-8") as stream:
        json.dump(asdict(recording), stream)


def _isolated(job: Job) -> Recording:
    """Run the job in namespaces; the recording comes from the first process of the new PID namespace."""
    try:
        _enter_namespaces()
    except OSError as error:
        return failed(f"{error}")
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        try:
            kernel.die_with_parent(signal.SIGKILL)
            recording = _first_process(job)
        except OSError as error:
            recording = failed(f"{error}")
        with open(writer, "w", encoding="utf-8") as stream:
            json.dump(asdict(recording), stream)
        os._exit(0)
    os.close(writer)
    with open(reader, encoding="utf-8") as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    if not text:
        return replace(failed("it was killed"), ended_by="lost")
    fields = json.loads(text)
    return Recording(**{**fields, "records": tuple(fields["records"]), "notes": tuple(fields["notes"])})


def failed(why: str) -> Recording:
    return Recording(
        ended_by="setup", exit_status=None, stdout="", stderr="", records=(), notes=(why,), seconds=0.0
    )


def _enter_namespaces() -> None:
    if os.geteuid() == 0:
        kernel.unshare(_SPACES)
        return
    user, group = os.geteuid(), os.getegid()
    kernel.unshare(_SPACES | kernel.CLONE_NEWUSER)
    _write("/proc/self/setgroups", "deny")
    _write("/proc/self/uid_map", f"0 {user} 1")
    _write("/proc/self/gid_map", f"0 {group} 1")


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="ascii") as file:
        file.write(text)


def _first_process(job: Job) -> Recording:
    kernel.loopback_up()
    socket.sethostname(HOST_NAME)
    root.build(job, job.scratch)
    if os.geteuid() == 0 and _is_real_root():
        _give_away(job.scratch, job.root)
    writable_proc = kernel.detached_proc(f"{job.scratch}/proc")
    root.show_processes(job.scratch)
    kernel.enter_root(job.scratch)
    return _run(job, writable_proc)


def _is_real_root() -> bool:
    return Path("/proc/self/uid_map").read_text("ascii").split() == ["0", "0", "4294967295"]


def _give_away(new_root: str, submission: str) -> None:
    places = [f"{new_root}/.kit/forever", f"{new_root}/usr/local/Ascend"]
    for top in (new_root + submission, f"{new_root}/usr/local/Ascend", new_root + IMAGE_PACKAGES):
        for folder, _, files in os.walk(top):
            places += [folder, *(os.path.join(folder, name) for name in files)]
    places += [f"{new_root}/.kit", f"{new_root}/.kit/records"]
    places += [new_root + folder for folder in (IMAGE_SOURCES, *IMAGE_FOLDERS)]
    places += [f"{new_root}/{name}" for name in root.OF_ROOT]
    for place in places:
        os.chown(place, STRANGER, STRANGER, follow_symlinks=False)


def _run(job: Job, writable_proc: int | None = None) -> Recording:
    """Start the program and watch it; everything that it started is killed at the end."""
    began = time.monotonic()
    if not job.isolated:
        kernel.adopt_orphans()
        plain.build(job)
    (out_reader, out_writer), (err_reader, err_writer) = os.pipe(), os.pipe()
    ready_reader, ready_writer = os.pipe()
    mapped_reader, mapped_writer = os.pipe()
    child = os.fork()
    if child == 0:
        _become_program(job, (out_writer, err_writer), (ready_writer, mapped_reader))
    for handle in (out_writer, err_writer, ready_writer):
        os.close(handle)
    if os.read(ready_reader, 1) == b"m":
        for name in ("uid_map", "gid_map"):
            handle = os.open(f"{child}/{name}", os.O_WRONLY, dir_fd=writable_proc)
            os.write(handle, f"0 {STRANGER} 1".encode())
            os.close(handle)
    os.write(mapped_writer, b"m")
    outputs = (Output(out_reader, job.limits.kept_output_bytes), Output(err_reader, job.limits.kept_output_bytes))
    watch = Watch(job, child, outputs)
    ending = watch.until_known()
    said = (outputs[0].text(), outputs[1].text())
    records = tuple(replace(record, alive=record.pid in ending.pids) for record in watch.records.found)
    after = watch.afterwards() if ending.ended_by == "server" else ""
    processes.end_all(os.getpid())
    return Recording(
        ended_by=ending.ended_by,
        exit_status=ending.exit_status,
        stdout=said[0],
        stderr=said[1],
        records=records,
        notes=(*sorted(watch.records.notes), *watch.records.unanswered()),
        seconds=time.monotonic() - began,
        stderr_after=after,
        asked=watch.records.asked(),
        slept_s=watch.slept_s(),
    )


def _become_program(job: Job, outputs: tuple[int, int], gates: tuple[int, int]) -> None:
    """In the child: give up all rights, then become the shell."""
    try:
        os.setsid()
        if job.isolated and os.geteuid() == 0 and _is_real_root():
            kernel.unshare(kernel.CLONE_NEWUSER)
            os.write(gates[0], b"m")
            os.read(gates[1], 1)
            os.setgroups([])
            os.setresgid(0, 0, 0)
            os.setresuid(0, 0, 0)
        else:
            os.write(gates[0], b"-")
            os.read(gates[1], 1)
        if job.isolated:
            kernel.drop_privileges()
        else:
            plain.drop_privileges(job)
        _limit(job)
        null = os.open("/dev/null", os.O_RDONLY)
        for number, handle in enumerate((null, *outputs)):
            os.dup2(handle, number)
        os.chdir(job.root)
        os.execve(job.shell[0], [*job.shell, job.script], dict(job.environment))  # noqa: S606
    except OSError as error:
        os.write(2, f"{job.shell[0]}: {error.strerror}\n".encode())
    os._exit(127)


def _limit(job: Job) -> None:
    limits = job.limits
    wanted = {
        resource.RLIMIT_CPU: limits.process_cpu_s,
        resource.RLIMIT_FSIZE: limits.disk_bytes,
        resource.RLIMIT_AS: limits.process_address_bytes,
        resource.RLIMIT_NOFILE: 512,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_NPROC: limits.processes + plain.other_processes(job),
    }
    for kind, value in wanted.items():
        _, hard = resource.getrlimit(kind)
        most = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (most, most))


if __name__ == "__main__":
    main()
