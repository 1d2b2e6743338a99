"""Reads what the stand-ins recorded, while the processes are still there to be asked."""

from __future__ import annotations

import itertools
import json
import os
import re
import socket
import threading
from collections.abc import Sequence
from pathlib import Path

from healthcheck.plan.sandbox import processes, python_path
from healthcheck.plan.sandbox.job import FILE_VARIABLES, Job, Record

_RECORD_BYTES = 512 * 1024
_CONFIG_BYTES = 256 * 1024
_CONFIG_NAME = re.compile(r"\.(ya?ml|json|toml|cfg|conf|ini)$", re.IGNORECASE)
_PORT = re.compile(
    r"(?i)(?:port|bind|listen|address)[\w.-]*[\"']?[\s=:,\"]*(?:[\w.\[\]-]*:)?(\d{2,5})\b|:(\d{4,5})\b"
)
_USUAL_PORTS = (8000, 8080, 30000, 23333, 1025, 11434)
_OWN_CONFIGURATION = {
    "mindieservice_daemon": ("/usr/local/Ascend/mindie/latest/mindie-service/conf/config.json",),
    "nginx": ("/etc/nginx/nginx.conf",),
}
"""Configuration files that a server reads without being told to."""
_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\nConnection: close\r\n\r\n"
_MESSAGE = {"role": "assistant", "content": "ok"}
_NAME_OPTIONS = {"--served-model-name", "--served_model_name", "--alias", "-a", "--model-name"}


class Records:
    """The records of a rehearsal so far; a recorded server answers on its port from then on."""

    def __init__(self, job: Job) -> None:
        self._kit, self._limit, self._isolated = job.kit, job.limits.records, job.isolated
        self._answers = job.answers
        self._weights, self._model_path = Weights(job.model_path), job.model_path
        self._seen: set[str] = set()
        self._listening: set[int] = set()
        self.found: list[Record] = []
        self.notes: set[str] = set()

    def collect(self) -> int:
        """Read what is new; how many records that was."""
        names = set(os.listdir(f"{self._kit}/records")) - self._seen
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
        return {int(name) for name in os.listdir(f"{self._kit}/napping") if name.isdigit()}

    def slept_s(self) -> float:
        """How long the program meant to sleep in total."""
        try:
            text = Path(f"{self._kit}/slept").read_text("ascii", errors="replace")
        except OSError:
            return 0.0
        units = {"s": 1, "m": 60, "h": 3600}
        total = 0.0
        for value in text.split()[-10_000:]:
            number = value.rstrip("smh")
            if re.fullmatch(r"\d+(\.\d*)?|\.\d+", number):
                total += float(number) * units.get(value[-1], 1)
        return total

    def asked(self) -> bool:
        """Whether a program asked a recorded server, or one that loads for ever."""
        return os.path.exists(f"{self._kit}/asked")

    def _age(self, name: str) -> int:
        try:
            return os.stat(f"{self._kit}/records/{name}").st_mtime_ns
        except OSError:
            return 0

    def _read(self, name: str) -> Record | None:
        try:
            with open(f"{self._kit}/records/{name}", "rb") as file:
                data = file.read(_RECORD_BYTES)
        except OSError:
            return None
        parts = [part.decode("utf-8", "surrogateescape") for part in data.split(b"\0")][:-1]
        if len(parts) < 4 or not parts[1].isdigit():
            return None
        kind, pid, cwd, *argv = parts
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

    def _serve(self, record: Record) -> None:
        text = " ".join([*record.argv, *record.texts.values()])
        wanted = {int(number) for pair in _PORT.findall(text) for number in pair if number}
        ports = {port for port in wanted if 80 <= port < 65536} | set(_USUAL_PORTS)
        for port in sorted(ports)[:20] if self._answers else ():
            if port not in self._listening:
                self._listening.add(port)
                self._listen(port, _answer(_names(record.argv) or [self._model_path]))
        Path(f"{self._kit}/serving").touch()

    def _listen(self, port: int, answer: bytes) -> None:
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(("127.0.0.1", port if self._isolated else 0))
            listener.listen(64)
        except OSError:
            listener.close()
            return
        Path(f"{self._kit}/ports/{port}").write_text(str(listener.getsockname()[1]), encoding="ascii")
        threading.Thread(target=_answer_all, args=(listener, answer, f"{self._kit}/asked"), daemon=True).start()


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


def _names(argv: Sequence[str]) -> list[str]:
    """The names that a server is told to call its model."""
    found: list[str] = []
    behind = False
    for word in argv:
        option, _, value = word.partition("=")
        if word.startswith("-"):
            behind = option in _NAME_OPTIONS
            found += [value] if behind and value else []
        elif behind:
            found.append(word)
    return found


def _answer(names: Sequence[str]) -> bytes:
    """What a healthy server that has models of these names says to any request."""
    models = [{"id": name, "object": "model", "root": name} for name in names]
    choices = [{"index": 0, "message": _MESSAGE, "finish_reason": "stop"}]
    body = json.dumps({"status": "ok", "object": "list", "data": models, "choices": choices}).encode() + b"\n"
    return _HEAD % len(body) + body


def _answer_all(listener: socket.socket, answer: bytes, asked: str) -> None:
    """Be a healthy server to whoever asks."""
    while True:
        try:
            connection, _ = listener.accept()
            Path(asked).touch()
            with connection:
                connection.settimeout(1)
                connection.recv(65536)
                connection.sendall(answer)
        except OSError:  # noqa: PERF203 - one asker's trouble is not the next one's
            continue


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
    return behind | {word.partition("=")[2] for word in argv if word.startswith("--requirement=")}


def _texts(cwd: str, argv: list[str]) -> dict[str, bytes]:
    """Configuration files by the name that they were given by; one byte more than is kept shows that it was cut."""
    found = {}
    lists = _requirement_files(argv)
    for value in _candidates(argv):
        place = os.path.join(cwd, value)
        try:
            if (_CONFIG_NAME.search(value) or value in lists) and os.path.isfile(place):
                with open(place, "rb") as file:
                    found[value] = file.read(_CONFIG_BYTES + 1)
        except (OSError, ValueError):
            continue
    return found
