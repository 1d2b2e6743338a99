"""Finds the calls of weights that torch.save wrote, from the opcodes of their pickle. Nothing is unpickled."""

from __future__ import annotations

import io
import pickletools
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass

from healthcheck.errors import UsageError
from healthcheck.stages.weights.folder import Entry, Folder, Unreadable, shown
from healthcheck.system.files import Sparing

ZIP_HEAD = b"PK\x03\x04"
PICKLE_HEAD = b"\x80"
"""Common to every protocol that torch has used."""
ZIP_END = b"PK\x05\x06"
TAIL_BYTES = 66_000
MAX_PICKLE_BYTES = 4 * 1024**2
MAX_DIRECTORY_BYTES = 8 * 1024**2
MAX_SCANNED = 4
DANGEROUS = {
    "os", "posix", "nt", "subprocess", "sys", "socket", "runpy", "importlib", "pty", "shutil", "webbrowser",
    "ctypes", "multiprocessing", "asyncio", "code", "commands", "platform", "pip", "pickle", "marshal", "types",
    "operator", "functools", "timeit", "requests", "urllib", "http", "bdb", "pdb", "cProfile", "profile", "signal",
    "threading",
}  # fmt: skip
DANGEROUS_BUILTINS = {
    "eval", "exec", "execfile", "compile", "open", "input", "getattr", "setattr", "delattr", "__import__", "apply",
    "breakpoint", "globals", "locals", "vars",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Pickled:
    """A file in torch's format.

    Attributes:
        cut_off: the file is a zip file without its end.
        foreign: the file is neither a pickle nor a zip file with one, so not from torch.save.
        calls: the functions that the scanned part of its pickle imports ("os.system").
    """

    entry: Entry
    cut_off: bool = False
    foreign: bool = False
    calls: tuple[str, ...] = ()

    @property
    def dangerous(self) -> tuple[str, ...]:
        """Calls that weights do not need and torch.load(weights_only=True) rejects."""
        return tuple(call for call in self.calls if _is_dangerous(call))


def _is_dangerous(call: str) -> bool:
    module, _, name = call.rpartition(".")
    root = module.partition(".")[0]
    if root in {"builtins", "__builtin__"}:
        return name in DANGEROUS_BUILTINS
    return root in DANGEROUS


def inspect(folder: Folder, entries: tuple[Entry, ...]) -> Iterator[Pickled]:
    """Check both ends of each file, and scan the pickles of the first MAX_SCANNED files."""
    for number, entry in enumerate(entries):
        yield _inspect_or_not(folder, entry, scan=number < MAX_SCANNED)


def _inspect_or_not(folder: Folder, entry: Entry, *, scan: bool) -> Pickled:
    try:
        return _inspect(folder, entry, scan=scan)
    except Unreadable:
        return Pickled(entry=entry)


def _inspect(folder: Folder, entry: Entry, *, scan: bool) -> Pickled:
    if not folder.read_range(entry, 0, 4).startswith(ZIP_HEAD):
        data = folder.read_range(entry, 0, MAX_PICKLE_BYTES) if scan else b""
        calls = calls_of(data)
        foreign = scan and not calls and not data.startswith(PICKLE_HEAD)
        return Pickled(entry=entry, calls=calls, foreign=foreign)
    tail = folder.read_range(entry, max(0, entry.size_bytes - TAIL_BYTES), TAIL_BYTES)
    if ZIP_END not in tail:
        return Pickled(entry=entry, cut_off=True)
    if not scan:
        return Pickled(entry=entry)
    inside = _pickle_in_zip(folder, entry, tail)
    return Pickled(entry=entry, calls=calls_of(inside or b""), foreign=inside is None)


def _pickle_in_zip(folder: Folder, entry: Entry, tail: bytes) -> bytes | None:
    """The pickle in a zip file; b"" if it cannot be read within the limits, None if there is none."""
    end = tail.rfind(ZIP_END)
    directory_bytes = int.from_bytes(tail[end + 12 : end + 16], "little")
    if MAX_DIRECTORY_BYTES < directory_bytes < 0xFFFFFFFF:
        return b""
    try:
        with (
            Sparing(folder.path / entry.name, MAX_DIRECTORY_BYTES) as data,
            zipfile.ZipFile(data) as archive,
        ):
            for item in archive.infolist():
                if item.filename.endswith("data.pkl") and item.compress_type == zipfile.ZIP_STORED:
                    with archive.open(item) as file:
                        return file.read(MAX_PICKLE_BYTES)
    except (OSError, UsageError, NotImplementedError):
        return b""  # above the limit, or newer than this Python
    except (ValueError, OverflowError, RuntimeError, EOFError, zipfile.BadZipFile):
        return None
    return None


def calls_of(data: bytes) -> tuple[str, ...]:
    """The imports of a pickle as "module.name", in order, each once. Never raises."""
    found: dict[str, None] = {}
    recent: list[str] = []
    try:
        for opcode, argument, _ in pickletools.genops(io.BytesIO(data)):
            if opcode.name in {"GLOBAL", "INST"} and isinstance(argument, str):
                found[argument.replace(" ", ".", 1)] = None
            elif opcode.name == "STACK_GLOBAL" and len(recent) >= 2:
                found[f"{recent[-2]}.{recent[-1]}"] = None
            elif isinstance(argument, str):
                recent = [*recent[-1:], argument]
            if len(found) > 1000:
                break
    except (ValueError, IndexError, OverflowError, MemoryError, UnicodeDecodeError, AttributeError):
        pass  # legacy files have several pickles, then raw data: all imports before the error count
    return tuple(shown(call, 80) for call in found)
