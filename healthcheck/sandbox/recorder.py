"""Collects the records of stubs while their processes still exist and can be examined."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Container, Sequence

from healthcheck.sandbox import answers, processes, safely
from healthcheck.sandbox.channel import Channel
from healthcheck.sandbox.guest import Guest
from healthcheck.sandbox.job import Job, Record, RecordKind
from healthcheck.sandbox.notes import Notes, number
from healthcheck.sandbox.protocol import BETWEEN, DONE, END, SERVED, SERVING, TOLD
from healthcheck.sandbox.stubs import Stubs

_KINDS = {kind.value: kind for kind in RecordKind}
_NOTED_KINDS = {kind.value: kind for kind in (RecordKind.EXEC, RecordKind.SLEEP)}
"""What a shell stub notes in one line."""
_LEAST_PARTS, _SHOWN_CHARACTERS = 3, 64 * 1024
_CONFIG_BYTES = 256 * 1024
_CONFIG_NAME = re.compile(r"\.(ya?ml|json|toml|cfg|conf|ini)$", re.IGNORECASE)
_UNKNOWN_MODELS, _NAME_CHARACTERS = 20, 200


class Recorder:
    """The records of a dry run so far; starts the HTTP server of each recorded server."""

    def __init__(self, job: Job, channel: Channel, guest: Guest) -> None:
        self._channel, self._isolated, self._answers = channel, job.isolated, job.answers
        self._guest = guest
        self._stubs, self._most = Stubs(job.kit, guest), job.limits.records
        self._weights, self._job = Weights(job.model_path), job
        self._listening: set[int] = set()
        self.unknown_models: set[str] = set()
        self.notes = Notes(channel, loading=not job.answers, marks=job.marks)
        self.found: list[Record] = []

    def listen(self, seconds: float) -> int:
        """Collect records for this many seconds; returns how many were new."""
        until, before = time.monotonic() + seconds, len(self.found)
        while not self.flooded and (left_s := until - time.monotonic()) > 0:
            for word, *more in self._channel.wait(left_s):
                if word == TOLD:
                    self._take(more)
                elif word in _NOTED_KINDS:
                    self._add_noted(_NOTED_KINDS[word], more)
                elif word == "asked":
                    self._note_asked("".join(more[:1]))
                elif word == "beside":
                    self._channel.answer_note(
                        b"+" if processes.has_others(number("".join(more[:1]))) else b"-"
                    )
                else:
                    self.notes.read(word, more)
        self.notes.pass_time()
        return len(self.found) - before

    @property
    def flooded(self) -> bool:
        """Whether more was recorded than any start script has to say."""
        return self._channel.flooded or len(self.found) > self._most

    def servers(self) -> list[Record]:
        return [record for record in self.found if record.kind is RecordKind.SERVER]

    def serving(self) -> set[int]:
        """The processes of recorded servers that hold their lock."""
        return {record.pid for record in self.servers() if self._channel.is_held(record.pid)}

    def is_there(self, record: Record, living: Container[int]) -> bool:
        """Whether the recorded process still runs; a server must also hold its lock."""
        return record.pid in living and (
            record.kind is not RecordKind.SERVER or self._channel.is_held(record.pid)
        )

    def _take(self, words: Sequence[str]) -> None:
        """Accept a record, and let its sender continue."""
        pid, kind = number(words[0]), _KINDS.get("".join(words[1:2]))
        if pid and kind and len(words) > _LEAST_PARTS and self._is_proven(kind, pid, words[3:]):
            self._add(kind, pid, words[2], list(words[3:]))
        self._channel.answer_note()

    def _is_proven(self, kind: RecordKind, pid: int, argv: Sequence[str]) -> bool:
        """Whether a record about a process is that of a stub, and a server's that of one that serves.

        A command that has ended needs no proof: a program that tells of a command could also run it.
        """
        if kind is RecordKind.SERVER:
            return self._channel.is_held(pid) and self._stubs.is_a_server(pid, argv)
        return kind is not RecordKind.PYTHON or self._stubs.is_one(pid)

    def _add_noted(self, kind: RecordKind, words: Sequence[str]) -> None:
        """Accept a command that has ended, from a shell stub."""
        if len(words) < _LEAST_PARTS or not number(words[0]):
            return
        pid, cwd, *argv = words
        self._add(kind, number(pid), cwd, argv)
        self.notes.answer(number(pid))

    def _add(self, kind: RecordKind, pid: int, cwd: str, argv: list[str]) -> None:
        record = self._record(kind, pid, cwd, argv)
        self.found.append(record)
        if kind is RecordKind.SERVER:
            self._serve(record)
        line = BETWEEN.join((str(pid), kind.value, cwd, *argv))[:_SHOWN_CHARACTERS]
        self._channel.shown.add(DONE, f"{line}{END}")

    def _record(self, kind: RecordKind, pid: int, cwd: str, argv: list[str]) -> Record:
        environment = (
            processes.environment(pid) if kind in {RecordKind.SERVER, RecordKind.PYTHON} else {}
        )
        named = {environment[name] for name in self._guest.file_variables & environment.keys()}
        read = _texts(cwd, argv, frozenset(self._guest.reads(argv)))
        texts = {
            name: data[:_CONFIG_BYTES].decode("utf-8", "replace") for name, data in read.items()
        }
        return Record(
            kind=kind,
            pid=pid,
            cwd=cwd,
            argv=tuple(argv),
            env=environment,
            paths=self._weights.resolve(cwd, _candidates(argv) | _named_in(texts) | named),
            texts=texts,
            cut=tuple(name for name, data in read.items() if len(data) > _CONFIG_BYTES),
            modules=self._guest.modules(argv, environment, cwd, texts.values(), self.found)
            if kind is RecordKind.SERVER
            else {},
            slept_s=self.notes.slept_s,
        )

    def _note_asked(self, unknown_model: str) -> None:
        self.notes.asked = True
        if unknown_model and len(self.unknown_models) < _UNKNOWN_MODELS:
            self.unknown_models.add(unknown_model[:_NAME_CHARACTERS])

    def refused_ports(self) -> tuple[int, ...]:
        """Ports that were polled while no recorded server listened there."""
        return tuple(self.notes.refused(self._listening))

    def _serve(self, record: Record) -> None:
        """Let requests be answered: by stubs themselves, and in a network of its own for other programs, too."""
        server = self._guest.served(record, self._job)
        for port in sorted(server.ports - self._listening) if self._answers else ():
            self._listening.add(port)
            if self._isolated:
                answers.listen(server, ("127.0.0.1", port), self._note_asked)
            words = (str(port), "strict" if server.strict else "", *server.names)
            self._channel.shown.add(SERVED, f"{BETWEEN.join(words)}{END}")
        self._channel.shown.add(SERVING, "1")


_COMPARED_FILES = 1000
_TENSORS = (".safetensors", ".bin", ".gguf", ".pt", ".pth")
"""Files that a copy of the weights keeps unchanged; a program may change the configuration beside them."""


class Weights:
    """Recognizes the weights under other paths, such as a link to them or a copy that a program made.

    Links are followed, with the rights of the sandboxed program: only names and sizes of their targets are read.
    """

    def __init__(self, model_path: str) -> None:
        self._path, self._real = model_path, os.path.realpath(model_path)
        files = safely.sizes_through_links(self._real, _COMPARED_FILES)
        self._files = {
            name: size for name, size in files.items() if name.endswith(_TENSORS)
        } or files

    def resolve(self, cwd: str, values: set[str]) -> dict[str, str]:
        """The values that name an existing path, with what it resolves to; weights resolve to MODEL_PATH."""
        found = {}
        for value in values:
            place = os.path.join(cwd, value)
            if len(value) < 4096 and "\0" not in value and os.path.lexists(place):
                found[value] = self._known(os.path.realpath(place))
        return found

    def _known(self, real: str) -> str:
        if real == self._real or real.startswith(f"{self._real}/"):
            return self._path + real[len(self._real) :]
        if (
            self._files
            and self._files.items() <= safely.sizes_through_links(real, _COMPARED_FILES).items()
        ):
            return self._path
        return real


_QUOTED = re.compile(r'"([^"]*/[^"]*)"')


def _candidates(argv: list[str]) -> set[str]:
    """The words of a command, what follows a `=`, and the quoted paths in a JSON value."""
    found = {
        value for argument in argv for value in (argument, argument.partition("=")[2]) if value
    }
    return found | {
        value for word in found if word[0] in "{[" for value in _QUOTED.findall(word)[:50]
    }


def _named_in(texts: dict[str, str]) -> set[str]:
    """Paths in a configuration file, quoted or after a colon."""
    found = set()
    for text in texts.values():
        found |= set(re.findall(r"[\"'](/[^\"'\n]{1,1000})[\"']", text)[:50])
        found |= set(re.findall(r":[ \t]+(/[^\"'\n]{1,1000}?)[ \t]*$", text, re.MULTILINE)[:50])
        words = re.findall(r":[ \t]+[\"']?([^\s\"'#]{1,1000})", text)[:200]
        found |= {word for word in words if "/" in word or "." in word}
    return found


def _texts(cwd: str, argv: list[str], more: frozenset[str]) -> dict[str, bytes]:
    """The contents of configuration files, by their name in the command; one byte above the limit shows a cut."""
    found = {}
    for value in _candidates(argv) | more:
        place = os.path.join(cwd, value)
        if _CONFIG_NAME.search(value) or value in more:
            data = safely.read_through_links(place, _CONFIG_BYTES + 1)
            if data is not None:
                found[value] = data
    return found
