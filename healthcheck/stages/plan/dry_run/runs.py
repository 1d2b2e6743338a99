"""Performs the dry runs of deploy.sh: under its own shell, under sh, and with a MODEL_PATH that needs quotes."""

from __future__ import annotations

import contextlib
import itertools
import math
import os
import re
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from healthcheck import contract
from healthcheck.engines.base import Api
from healthcheck.engines.unrecognised import UNRECOGNISED
from healthcheck.errors import UsageError
from healthcheck.sandbox import box
from healthcheck.sandbox.job import EndedBy, Job, Limits, Record, Recording, RecordKind
from healthcheck.sandbox.protocol import TIME_LIMIT
from healthcheck.stages.plan.dry_run.stubbed_machine import ENTRY
from healthcheck.stages.plan.image import VARIABLES
from healthcheck.stages.plan.records import (
    SETTINGS,
    LaunchPlan,
    Mark,
    Observations,
    RecordedCommand,
    ServerCommand,
    ShellRun,
    UnshippedFile,
)
from healthcheck.stages.plan.script import causes, deploy_sh, trace
from healthcheck.stages.plan.script.sourced import sourced_files
from healthcheck.stages.plan.servers import recognise
from healthcheck.stages.plan.vllm_cli.parsers import read_format
from healthcheck.stages.repo import bashisms
from healthcheck.stages.repo import shell as shell_text
from healthcheck.stages.repo.installs import entries
from healthcheck.stages.repo.records import Submission
from healthcheck.stages.repo.settings import MAX_BYTES
from healthcheck.stages.repo.tree import read_inside
from healthcheck.system import programs
from healthcheck.system.files import read_bounded
from healthcheck.text.messages import msg

AWKWARD_NAME = "模型 权重 v1.5"
"""A name with spaces and non-ASCII characters, which authors rarely test."""
PATIENCE_S = 600.0
"""How long vLLM waits for its engine (VLLM_ENGINE_READY_TIMEOUT_S): long enough for a script, too."""
MAX_SETTINGS, MAX_SETTINGS_BYTES = 40, 64 * 1024
"""Uncommitted files that are read, and how much of each."""
MAX_WEIGHT_FILES = 10_000
_TOO_EARLY = re.compile(r"^tail: cannot open ", re.MULTILINE)
_COLOURS = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_LINE = 2000
"""Limit on the characters of a line; a shell's message about a longer word begins with the word."""
_MOST_FILES, _LARGEST_TEXT_BYTES = 2000, 256 * 1024
"""In how many files, and up to which size, a value with a carriage return is looked up."""
_SLEEPS = re.compile(r"\b(?:sleep|timeout)\b")
_SH = "/bin/sh"
OTHER_FOLDER = "/var/tmp"  # noqa: S108 - in the sandbox
"""The working directory of the run that shows whether deploy.sh depends on its own folder."""
_DOCUMENTS = re.compile(
    r"\.git(?:hub|ignore|attributes)?$|README|LICEN[CS]E|CHANGELOG|.*\.md$", re.IGNORECASE
)
"""Files that no launch reads."""
_SHELLS = {"bash", "dash", "zsh", "ksh", "mksh", "ash"}
_AS_SH = ("-c", msg('set -o posix; . "./$0"'))
"""Options that make bash read a script like sh; with --posix it would not read trace.sh."""
_AFTER_SHELL_SH = ("-c", '. "${BASH_ENV%/*}/shell.sh"; . "./$0"')


@dataclass(frozen=True, slots=True, kw_only=True)
class _Take:
    """A run with its job and its recording."""

    job: Job
    recording: Recording
    run: ShellRun


@dataclass(frozen=True, slots=True, kw_only=True)
class DryRun:
    """The dry runs of one submission, with their sandbox and limits; `shown` is the stubs' knowledge."""

    tree: Path
    weights: Path
    text: str
    limits: Limits
    box: box.Box
    shown: Mapping[str, object]

    def plan(self, submission: Submission) -> LaunchPlan:
        shell = _knowing_limits(_own_shell(self.text), self.text)
        plain_name = re.sub(r"[^A-Za-z0-9._-]", "_", self.weights.name) or "weights"
        first = self._take(shell, plain_name)
        with ThreadPoolExecutor(max_workers=3) as pool:
            awkward = pool.submit(self._take, shell, AWKWARD_NAME) if first.run.servers else None
            loading = pool.submit(self._loading, first, shell, plain_name)
            elsewhere = pool.submit(self._elsewhere, first, shell, plain_name)
            # Run it under sh, too, if the script starts a server and its text has no bashisms.
            unseen = first.run.servers and not bashisms.find(shell_text.read(self.text))
            by_sh = unseen and shell[0] != _SH and not contract.service().shell
            others = (
                (self._take(_knowing_limits((_SH,), self.text), plain_name).run,) if by_sh else ()
            )
        spaced = awkward.result() if awkward else None
        return LaunchPlan(
            server=_nearest(first.run.servers),
            servers=first.run.servers,
            commands=first.run.commands,
            spaced=_nearest(spaced.run.servers) if spaced else None,
            model_path=first.job.model_path,
            spaced_model_path=spaced.job.model_path if spaced else "",
            root=first.job.root,
            run=self._traced(first, plain_name) if not first.run.servers else first.run,
            others=others,
            spaced_run=spaced.run if spaced else None,
            loading_run=loading.result(),
            elsewhere_run=elsewhere.result(),
            script=self.text,
            settings=self._text(SETTINGS),
            sourced=sourced_files(self.text, submission.paths, self._text),
            observed=_observed(first),
            required=tuple(entry.name or entry.target for entry in entries(submission)),
            committed=frozenset(submission.paths),
            given_root=str(submission.root),
            unshipped=(*submission.untracked, *submission.ignored),
            unshipped_files=tuple(_unshipped(submission)),
            weight_files=_names(self.weights),
            line_ends=self._line_ends(submission, first.run.servers),
            stack=submission.stack,
            given_path=str(self.weights),
            form=read_format(self.weights),
        )

    def _line_ends(
        self, submission: Submission, servers: tuple[ServerCommand, ...]
    ) -> tuple[str, ...]:
        """The files for `LaunchPlan.line_ends`; none unless an argument of a server ends in a carriage return."""
        values = {
            f"{value}\r".encode() for server in servers for _, value in server.carriage_returns
        }
        values |= {
            value.encode()
            for server in servers
            for value in server.env.values()
            if value.endswith("\r")
        }
        texts: dict[str, bytes] = {}
        for path in submission.paths[:_MOST_FILES] if values else ():
            place = self.tree / path
            with contextlib.suppress(UsageError):
                text = b"" if place.is_symlink() else read_bounded(place, _LARGEST_TEXT_BYTES)
                if b"\r\n" in text and b"\0" not in text:
                    texts[path] = text
        having = tuple(
            path for path, text in texts.items() if any(value in text for value in values)
        )
        return having or tuple(texts)

    def _text(self, path: str) -> str:
        """The text of a small file of the repository; "" for others."""
        place = self.tree / path
        try:
            data = b"" if place.is_symlink() else read_bounded(place, MAX_BYTES)
        except UsageError:
            return ""
        return data.decode("utf-8", "replace")

    def _take(self, shell: tuple[str, ...], name: str, *, folder: str = "") -> _Take:
        """Run the script, and repeat a run that may have ended by chance.

        `vllm serve … > log & tail -f log` ends at once in the rare case that tail starts before the log exists. A
        machine that stalls for seconds uses up the time of any script.
        """
        first = self._once(shell, name, folder=folder)
        if first.recording.ended_by is EndedBy.TIME:
            return self._once(shell, name, folder=folder)
        overtook = first.run.servers or _TOO_EARLY.search(first.run.stderr)
        if first.recording.ended_by is not EndedBy.EXIT or not overtook:
            return first
        second = self._once(shell, name, folder=folder)
        return second if second.recording.ended_by is EndedBy.SERVER else first

    def _elsewhere(self, take: _Take, shell: tuple[str, ...], name: str) -> ShellRun | None:
        """Repeat the run from another working directory, if the launch may read files of the submission."""
        own = {each.name for each in self.tree.iterdir()} - {contract.ENTRY_POINT}
        if not take.run.servers or all(map(_DOCUMENTS.match, own)):
            return None
        by_path = tuple(word.replace('"./$0"', '"$0"') for word in shell)
        return self._take(by_path, name, folder=OTHER_FOLDER).run

    def _loading(self, take: _Take, shell: tuple[str, ...], name: str) -> ShellRun | None:
        """Repeat the run of a script that waits for its server, with a server that never becomes ready."""
        waits = take.recording.asked or take.recording.slept_s or _SLEEPS.search(self.text)
        if take.recording.ended_by is not EndedBy.SERVER or not waits:
            return None
        # How long the script polls a port where nothing listens does not matter: what does it do in the end?
        patience_s = math.inf if take.recording.refused_ports else PATIENCE_S
        return self._traced(self._once(shell, name, answers=False, patience_s=patience_s), name)

    def _traced(self, take: _Take, name: str) -> ShellRun:
        """Add the last commands to a run that failed, or that reached the time limit under bash.

        Other shells do not print line numbers; bash in POSIX mode traces for them, if its exit status is the same.
        """
        bash, is_bash = programs.find("bash"), Path(take.job.shell[0]).name == "bash"
        ended_by = take.recording.ended_by
        failed = ended_by is EndedBy.EXIT and (take.run.exit_status or not take.job.answers)
        if not failed and not (ended_by is EndedBy.TIME and is_bash):
            return take.run
        shown = take
        if bash and not is_bash:
            shown = self._once((bash, *_AS_SH), name, answers=take.job.answers)
        same = shown.run.exit_status == take.run.exit_status
        return replace(
            take.run,
            traced=trace.traced(shown.recording.trace, shown.job.root, shown.job.kit)
            if same
            else (),
        )

    def _once(
        self,
        shell: tuple[str, ...],
        name: str,
        *,
        answers: bool = True,
        patience_s: float = PATIENCE_S,
        folder: str = "",
    ) -> _Take:
        setting = box.Setting(
            source=self.tree,
            script=contract.ENTRY_POINT,
            user=contract.service().user or "root",
            shell=shell,
            folder=folder,
            weights=self.weights,
            weights_name=name,
            limits=self.limits,
            answers=answers,
            patience_s=patience_s,
            entry=ENTRY,
            shown=self.shown,
            marks=tuple(each.value for each in Mark),
            environment=VARIABLES,
        )
        job, recording = self.box(setting)
        if not job.isolated:
            recording = replace(recording, records=tuple(map(_without_machine, recording.records)))
        return _Take(job=job, recording=recording, run=self._run(shell, recording))

    def _run(self, shell: tuple[str, ...], recording: Recording) -> ShellRun:
        commands = tuple(
            RecordedCommand(
                program=record.argv[0],
                argv=record.argv,
                cwd=record.cwd,
                where=deploy_sh.where_is(self.text, record.argv),
                alive=record.alive,
                serves=record.kind is RecordKind.SERVER,
                texts=record.texts,
            )
            for record in recording.records
        )
        return ShellRun(
            shell=Path(shell[0]).name,
            exit_status=recording.exit_status,
            ended_by=recording.ended_by,
            stdout=_readable(recording.stdout),
            stderr=_readable(recording.stderr),
            stderr_after=_readable(recording.stderr_after),
            commands=commands,
            servers=tuple(self._servers(recording)),
            slept_s=recording.slept_s,
            polled=recording.asked,
        )

    def _servers(self, recording: Recording) -> Iterator[ServerCommand]:
        loaded = recognise.loaded_models(recording.records)
        stays = recording.ended_by is EndedBy.SERVER
        for record in recording.records:
            if record.kind is RecordKind.SERVER:
                yield replace(
                    recognise.server_of(record, loaded.get(record.pid, ())),
                    foreground=stays and record.alive,
                    where=deploy_sh.where_is(self.text, record.argv),
                    limit_s=_limit_s(record.env.get(TIME_LIMIT, "")),
                    slept_s=record.slept_s,
                )


def _unshipped(submission: Submission) -> Iterator[UnshippedFile]:
    """The small uncommitted files that a shell may read for variables."""
    named = (
        path for path in (*submission.untracked, *submission.ignored) if not path.endswith("/")
    )
    for path in itertools.islice(named, MAX_SETTINGS):
        data = read_inside(submission.root, path, MAX_SETTINGS_BYTES) or b"\0"
        if b"\0" not in data:
            yield causes.read_settings(path, data.decode("utf-8", "replace"))


def _names(folder: Path) -> frozenset[str]:
    try:
        return frozenset(itertools.islice(os.listdir(folder), MAX_WEIGHT_FILES))
    except OSError:
        return frozenset()


def _without_machine(record: Record) -> Record:
    """The record without the configuration of nginx on this machine, which an unisolated script sees."""
    texts = {
        name: text for name, text in record.texts.items() if not name.startswith("/etc/nginx/")
    }
    return replace(record, texts=texts)


def _observed(take: _Take) -> Observations:
    return Observations(
        mode=take.job.mode,
        stricter=take.recording.stricter,
        trouble=take.recording.trouble,
        marks=tuple(map(Mark, take.recording.marks)),
        refused_ports=take.recording.refused_ports,
        unknown_models=take.recording.unknown_models,
    )


def _readable(text: str) -> str:
    """Remove colours and shorten long lines, since patterns search each line."""
    lines = _COLOURS.sub("", text).split("\n")
    short = (
        line if len(line) <= _LINE else f"{line[: _LINE // 2]} […] {line[-_LINE // 2 :]}"
        for line in lines
    )
    name = re.escape(contract.ENTRY_POINT)
    # Dash names a sourced script twice, any other once.
    return re.sub(rf"^({name}: \d+: )\./{name}: ", r"\1", "\n".join(short), flags=re.MULTILINE)


def _limit_s(text: str) -> float | None:
    """Parse a duration of coreutils' timeout into seconds; None for 0 and infinity, which mean no limit."""
    match = re.fullmatch(r"\+?(\d+(?:\.\d*)?|\.\d+)([smhd]?)", text)
    seconds = (
        float(match[1]) * {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}[match[2]]
        if match
        else 0.0
    )
    return seconds or None


def _own_shell(text: str) -> tuple[str, ...]:
    """The shell of the main run: the service's if known, else that of the first line, else bash."""
    if shell := contract.service().shell:
        return (programs.find(shell) or _SH,)
    name, options = shell_text.shebang(text)
    name = name or "bash"
    found = programs.find(name) if name in _SHELLS else None
    return (found or _SH, *(options if found or name == "sh" else ()))


def _knowing_limits(shell: tuple[str, ...], text: str) -> tuple[str, ...]:
    """The shell, with the stub of ulimit if the script uses it; bash gets the stub from trace.sh."""
    wanted = "ulimit" in text and Path(shell[0]).name in {"sh", "dash", "ash"}
    return (*shell, *_AFTER_SHELL_SH) if wanted else shell


def _nearest(servers: tuple[ServerCommand, ...]) -> ServerCommand | None:
    """The server that the service most likely reaches: by port, API, foreground, known engine, and the latest.

    If none is known to listen on the service's port, it is a front, above all one whose port is unknown.
    """
    return max(
        reversed(servers),
        key=lambda each: (
            each.port == contract.PORT,
            each.front is not None and each.port is None,
            each.front is not None and all(other.port != contract.PORT for other in servers),
            each.api not in {Api.EMBEDDING, Api.HEADLESS},
            each.foreground,
            each.engine is not UNRECOGNISED,
        ),
        default=None,
    )
