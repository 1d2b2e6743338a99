"""Reads what the stand-ins recorded, while the processes are still there to be asked."""

from __future__ import annotations

import itertools
import os
import re
from collections import Counter
from urllib.parse import quote

from healthcheck.plan.dry_run.sandbox import answers, processes, python_path, safely, stubs
from healthcheck.plan.dry_run.sandbox.job import FILE_VARIABLES, REFUSED, UNKNOWN_MODEL, Job, Record

_RECORD_BYTES = 512 * 1024
_CONFIG_BYTES = 256 * 1024
_CONFIG_NAME = re.compile(r"\.(ya?ml|json|toml|cfg|conf|ini)$", re.IGNORECASE)
_OWN_CONFIGURATION = {
    "mindieservice_daemon": ("/usr/local/Ascend/mindie/latest/mindie-service/conf/config.json",),
    "nginx": ("/etc/nginx/nginx.conf",),
}
"""Configuration files that a server reads without being told to."""
_UNKNOWN_MODELS, _NAME_CHARACTERS = 20, 200
_MOST_NAMES, _NOTED_BYTES = 20_000, 1 << 18
_REFUSED_OFTEN = 6
"""So often a port is asked by one who waits for it, and not by one who looks whether it is free."""


class Records:
    """The records of a rehearsal so far; a recorded server answers on its port from then on."""

    def __init__(self, job: Job) -> None:
        self._kit, self._limit, self._isolated = job.kit, job.limits.records, job.isolated
        self._answers = job.answers
        self._weights, self._model_path = Weights(job.model_path), job.model_path
        self._seen: set[str] = set()
        self._listening: set[int] = set()
        self._real_ports: dict[int, int] = {}
        self._unknown_models: set[str] = set()
        self.found: list[Record] = []
        self.notes: set[str] = set()

    def collect(self) -> int:
        """Read what is new; how many records that was."""
        names = set(safely.names(f"{self._kit}/records", _MOST_NAMES)) - self._seen
        self.notes |= {name for name in names if name.startswith(("atb-", "cann-"))}
        done = sorted((name for name in names if name.endswith(".done")), key=self._age)
        if len(self._seen) + len(done) > self._limit:
            return 0
        for name in done:
            self._seen |= {name, name.removesuffix(".done")}
            record = self._read(name.removesuffix(".done"))
            if record:
                self.found.append(record)
                if record.kind == "server":
                    self._serve(record)
        return len(done)

    def servers(self) -> list[Record]:
        return [record for record in self.found if record.kind == "server"]

    def napping(self) -> set[int]:
        """Processes that sleep for the moment that a longer sleep was cut to."""
        return {int(name) for name in safely.names(f"{self._kit}/napping", _MOST_NAMES) if _is_pid(name)}

    def slept_s(self) -> float:
        """How long the program meant to sleep in total."""
        text = self._noted("slept")
        units = {"s": 1, "m": 60, "h": 3600}
        total = 0.0
        for value in text.split()[-10_000:]:
            number = value.rstrip("smh")
            if re.fullmatch(r"\d+(\.\d*)?|\.\d+", number):
                total += float(number) * units.get(value[-1], 1)
        return total

    def asked(self) -> bool:
        """Whether a program asked a recorded server, or one that loads for ever."""
        return safely.exists(f"{self._kit}/asked")

    def _age(self, name: str) -> int:
        try:
            return os.lstat(f"{self._kit}/records/{name}").st_mtime_ns
        except OSError:
            return 0

    def _read(self, name: str) -> Record | None:
        data = safely.read(f"{self._kit}/records/{name}", _RECORD_BYTES)
        parts = [part.decode("utf-8", "surrogateescape") for part in data.split(b"\0")][:-1]
        if len(parts) < 4 or not _is_pid(parts[1]):
            return None
        kind, pid, cwd, *argv = parts
        if kind == "server" and not stubs.is_a_server(int(pid), argv, self._kit):
            return None
        environment = processes.environment(int(pid)) if kind != "exec" else {}
        named = {environment[name] for name in FILE_VARIABLES & environment.keys()}
        read = _texts(cwd, [*argv, *_OWN_CONFIGURATION.get(argv[0], ())])
        texts = {name: data[:_CONFIG_BYTES].decode("utf-8", "replace") for name, data in read.items()}
        return Record(
            kind=kind,
            pid=int(pid),
            cwd=cwd,
            argv=tuple(argv),
            env=environment,
            paths=self._weights.resolve(cwd, _candidates(argv) | _named_in(texts) | named),
            texts=texts,
            cut=tuple(name for name, data in read.items() if len(data) > _CONFIG_BYTES),
            modules=python_path.found(argv, environment, cwd, texts.values(), self.found)
            if kind == "server"
            else {},
        )

    def _note_asked(self, unknown_model: str) -> None:
        safely.leave(f"{self._kit}/asked")
        if unknown_model and len(self._unknown_models) < _UNKNOWN_MODELS:
            self._unknown_models.add(unknown_model[:_NAME_CHARACTERS])

    def unanswered(self) -> list[str]:
        """Notes on what was asked of servers and is not there."""
        models = (f"{UNKNOWN_MODEL}{quote(name)}" for name in sorted(self._unknown_models))
        return [*self._refused(), *models]

    def _refused(self) -> list[str]:
        """Ports at which a program asked in vain, again and again, once a server was there."""
        asked = Counter(self._noted("refused").split()[-10_000:])
        often = sorted(port for port, count in asked.items() if count >= _REFUSED_OFTEN and _is_pid(port))
        return [f"{REFUSED}{port}" for port in often if int(port) not in self._listening]

    def _noted(self, name: str) -> str:
        """The end of a file that stand-ins write notes to, from a whole line on."""
        data = safely.last(f"{self._kit}/{name}", _NOTED_BYTES)
        return (data.partition(b"\n")[2] if len(data) == _NOTED_BYTES else data).decode("ascii", "replace")

    def port_of(self, port: int) -> int | None:
        """Where a recorded server of this port really listens."""
        return self._real_ports.get(port) or (port if port in self._real_ports.values() else None)

    def _serve(self, record: Record) -> None:
        server = answers.served(record, self._model_path)
        for port in sorted(server.ports - self._listening) if self._answers else ():
            self._listening.add(port)
            real = answers.listen(server, ("127.0.0.1", port if self._isolated else 0), self._note_asked)
            if real:
                self._real_ports[port] = real
                safely.leave(f"{self._kit}/ports/{port}", str(real).encode())
        safely.leave(f"{self._kit}/serving")


_TENSORS = (".safetensors", ".bin", ".gguf", ".pt", ".pth")
"""What a copy of the weights has unchanged; a program may change the configuration beside them."""


class Weights:
    """Tells the weights apart from other folders, also where a program made a copy of them or links to them."""

    def __init__(self, model_path: str) -> None:
        self._path, self._real = model_path, os.path.realpath(model_path)
        files = _sizes(self._real)
        self._files = {name: size for name, size in files.items() if name.endswith(_TENSORS)} or files

    def resolve(self, cwd: str, values: set[str]) -> dict[str, str]:
        """Those of the values that name something that exists, with what it is."""
        found = {}
        for value in values:
            place = os.path.join(cwd, value)
            if len(value) < 4096 and "\0" not in value and os.path.lexists(place):
                found[value] = self._known(os.path.realpath(place))
        return found

    def _known(self, real: str) -> str:
        if real == self._real or real.startswith(f"{self._real}/"):
            return self._path + real[len(self._real) :]
        if self._files and self._files.items() <= _sizes(real).items():
            return self._path
        return real


def _sizes(folder: str) -> dict[str, int]:
    """The sizes of a folder's own files, links followed; of at most a thousand."""
    found = {}
    try:
        for name in sorted(os.listdir(folder))[:1000]:
            place = os.path.join(folder, name)
            if os.path.isfile(place):
                found[name] = os.path.getsize(place)
    except OSError:
        return found
    return found


_QUOTED = re.compile(r'"([^"]*/[^"]*)"')


def _candidates(argv: list[str]) -> set[str]:
    """The words of a command, what stands behind a `=`, and what stands in quotes in a JSON value."""
    found = {value for argument in argv for value in (argument, argument.partition("=")[2]) if value}
    return found | {value for word in found if word[0] in "{[" for value in _QUOTED.findall(word)[:50]}


def _named_in(texts: dict[str, str]) -> set[str]:
    """Paths that a configuration file names, between quotes or behind a colon."""
    found = set()
    for text in texts.values():
        found |= set(re.findall(r"[\"'](/[^\"'\n]{1,1000})[\"']", text)[:50])
        found |= set(re.findall(r":[ \t]+(/[^\"'\n]{1,1000}?)[ \t]*$", text, re.MULTILINE)[:50])
        words = re.findall(r":[ \t]+[\"']?([^\s\"'#]{1,1000})", text)[:200]
        found |= {word for word in words if "/" in word or "." in word}
    return found


def _requirement_files(argv: list[str]) -> set[str]:
    """The lists of packages that pip is given."""
    behind = {after for word, after in itertools.pairwise(argv) if word in {"-r", "--requirement"}}
    glued = {word[2:] for word in argv if word.startswith("-r")}
    return behind | glued | {word.partition("=")[2] for word in argv if word.startswith("--requirement=")}


def _texts(cwd: str, argv: list[str]) -> dict[str, bytes]:
    """Configuration files by the name that they were given by; one byte more than is kept shows that it was cut."""
    found = {}
    lists = _requirement_files(argv)
    for value in _candidates(argv) | lists:
        place = os.path.join(cwd, value)
        if _CONFIG_NAME.search(value) or value in lists:
            data = safely.read_through_links(place, _CONFIG_BYTES + 1)
            if data is not None:
                found[value] = data
    return found


def _is_pid(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 10
