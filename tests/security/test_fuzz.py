"""Untrusted bytes: each reader returns a result or raises its own error, and never another one."""

from __future__ import annotations

import contextlib
import io
import os
import re
import sys
import tempfile
import warnings
import zipfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from healthcheck.errors import UsageError
from healthcheck.sandbox.channel import Channel
from healthcheck.sandbox.guest import BARE
from healthcheck.sandbox.job import Job, Mode
from healthcheck.sandbox.recorder import Recorder
from healthcheck.stages.repo import git, requirements
from healthcheck.stages.repo.facts import read_submission
from healthcheck.stages.weights.folder import list_folder
from healthcheck.stages.weights.pickles import calls_of, inspect
from healthcheck.stages.weights.safetensors import FormatError, parse_header
from healthcheck.wire.sse import Decoder
from tests.support.repositories import folder
from tests.support.repositories import git as run_git

pytestmark = pytest.mark.slow
MANY = settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck))
FEW = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
PARTS = st.one_of(
    st.binary(max_size=60),
    st.sampled_from(
        [b"server", b"exec", b"python", str(os.getpid()).encode(), b"1", b"-1", b"9" * 30, b"/", b"..", b"vllm", b"nginx",
         b"serve", b"--config", b"/dev/zero", b"a.json", b'{"a": "/dev/zero"}', b"\xff\xfe", b"--port", b"8000", b"-r"]
    ),
)  # fmt: skip
RECORD = st.one_of(
    st.binary(max_size=300),
    st.lists(PARTS, max_size=12).map(lambda parts: b"".join(p + b"\0" for p in parts)),
)
NOTE = st.one_of(
    st.binary(max_size=300),
    st.lists(
        st.one_of(
            st.binary(max_size=12),
            st.sampled_from([b"exec", b"sleep", b"slept", b"limit", b"naps", b"woke", b"refused", b"waited", b"asked", b"told", b"lacks",
                             b"1", b"8000", b"5m", b"1e9", b"9" * 30, b"/", b"git", "\u0661".encode()]),
        ),
        max_size=7,
    ).map(lambda words: b"\x1f".join(words) + b"\n"),
)  # fmt: skip


def job(kit: str) -> Job:
    return Job(
        shell=("/bin/sh",), script="deploy.sh", source="/nonexistent", weights="/nonexistent", weights_inside="/w",
        model_path="/nonexistent/w", root="/nonexistent/r", scratch=kit, python="/nonexistent/python", stdlib=(),
        libraries=(), packages=(), mode=Mode.CONFINED, answers=False,
    )  # fmt: skip


@MANY
@given(
    st.lists(st.tuples(st.sampled_from([b"", b"more"]), RECORD), max_size=6),
    st.lists(NOTE, max_size=6),
)
def test_records_and_notes_of_any_bytes(
    records: list[tuple[bytes, bytes]], notes: list[bytes]
) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        kit = Path(scratch, "kit")
        (kit / "py/bin").mkdir(parents=True)
        (kit / "py/bin/python3").symlink_to(sys.executable)
        with contextlib.ExitStack() as sent:
            channel = sent.enter_context(contextlib.closing(Channel(str(kit / "run"), 100)))
            found = Recorder(job(scratch), channel, BARE)
            told = [
                b"told\x1f%d\x1f%s\x1f%s\n" % (os.getpid(), more, data.hex().encode())
                for more, data in records
            ]
            for note in (*told, *notes):
                (kit / "run/notes").write_bytes(note)
            for _ in range(4):
                found.listen(0.002)
            assert not found.servers()
            assert found.notes.slept_s >= 0
            assert not found.notes.timers.next_is_over((), ())
            found.refused_ports()


@MANY
@given(st.binary(max_size=400), st.integers(0, 1 << 70))
def test_safetensors(data: bytes, size: int) -> None:
    with contextlib.suppress(FormatError):
        parse_header(data, size)


@MANY
@given(st.binary(max_size=400))
def test_pickles(data: bytes) -> None:
    calls_of(b"\x80\x02" + data)


@MANY
@given(
    st.lists(
        st.one_of(
            st.binary(max_size=80), st.sampled_from([b"data: ", b"\n", b"\r\n", b":", b"event: a"])
        ),
        max_size=30,
    )
)
def test_event_streams(chunks: list[bytes]) -> None:
    together, apart = Decoder(), Decoder()
    whole = [*together.feed(b"".join(chunks))]
    assert [block for chunk in chunks for block in apart.feed(chunk)] == whole


@MANY
@given(
    st.one_of(
        st.binary(max_size=300),
        st.text(max_size=300).map(lambda text: text.encode("utf-8", "replace")),
    )
)
def test_requirements(data: bytes) -> None:
    requirements.includes(requirements.read("requirements.txt", data))


@FEW
@given(st.binary(min_size=1, max_size=200), st.integers(0, 20), st.integers(0, 5000))
def test_git_objects(noise: bytes, which: int, at: int) -> None:
    """A repository with one of its files overwritten in the middle is read, or refused in words."""
    with tempfile.TemporaryDirectory() as place:
        root = folder(Path(place, "r"), {"deploy.sh": "#!/bin/sh\nexit 1\n", "a/b": "c"})
        for words in (("init", "-q"), ("add", "-A"), ("commit", "-q", "-m", "a")):
            run_git(root, *words)
        files = sorted(
            path
            for path in (root / ".git").rglob("*")
            if path.is_file() and "hooks" not in path.parts
        )
        victim = files[which % len(files)]
        victim.chmod(0o644)
        data = victim.read_bytes()
        begin = at % (len(data) + 1)
        victim.write_bytes(data[:begin] + noise + data[begin + len(noise) :])
        with contextlib.suppress(UsageError):
            read_submission(root)
            commit = git.head(root)
            if commit:
                with git.shadow(commit) as shadow:
                    shadow.check_out(shadow.blobs(), git.MAX_FILE_BYTES)


HEADS = (b"PK\x03\x04", b"PK\x01\x02", b"PK\x05\x06", b"PK\x06\x06", b"PK\x06\x07")
SIZES = st.sampled_from([0, 1, 2, 4, 0xFFFF, 0xFFFFFFFE, 0xFFFFFFFF, 2**63, 2**64 - 1])
CHANGES = st.lists(
    st.tuples(st.sampled_from(HEADS), st.integers(4, 60), st.sampled_from([1, 2, 4, 8]), SIZES),
    max_size=5,
)
ENTRIES = st.lists(
    st.tuples(
        st.sampled_from(["archive/data.pkl", "../data.pkl", "/data.pkl", "data.pkl", "predictions/m/a.json", "../a.json", "a\0b",
                         "predictions/m/\udc80.json"]),
        st.one_of(st.binary(max_size=60), st.just(b"\x80\x02cos\nsystem\n."), st.just(bytes(300_000))),
        st.sampled_from([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA]),
        st.booleans(),
    ),
    max_size=4,
)  # fmt: skip


def zipped(entries: list[tuple[str, bytes, int, bool]], comment: bytes) -> bytearray:
    made = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(made, "w") as archive:
        warnings.simplefilter("ignore")  # two entries of one name
        for name, data, method, long in entries:
            information = zipfile.ZipInfo(name.encode("utf-8", "replace").decode())
            information.compress_type = method
            with archive.open(information, "w", force_zip64=long) as file:
                file.write(data)
        archive.comment = comment
    return bytearray(made.getvalue())


def damaged(entries: list, changes: list, comment: bytes, cut: int, more: int) -> bytes:
    """A zip file with changed fields; truncated if `more` is negative, else with that many thousand bytes appended."""
    data = zipped(entries, comment)
    for head, at, size, value in changes:
        places = [found.start() for found in re.finditer(re.escape(head), data)]
        for place in places[-2:]:
            data[place + at : place + at + size] = (value % 256**size).to_bytes(size, "little")
    if more < 0:
        del data[len(data) - cut :]
    return data + bytes(max(more, 0) * 1000)


ZIPS = (ENTRIES, CHANGES, st.binary(max_size=30), st.integers(0, 60), st.integers(-40, 3))
"""The strategies for the arguments of `damaged`."""


@MANY
@given(*ZIPS)
def test_zips(entries: list, changes: list, comment: bytes, cut: int, more: int) -> None:
    """Truncated, overlapping, encrypted, bombs, zip64, wrong sizes and offsets: no other error, bounded memory."""
    with tempfile.TemporaryDirectory() as place_:
        weights = Path(place_, "pytorch_model.bin")
        weights.write_bytes(damaged(entries, changes, comment, cut, more))
        folder_ = list_folder(Path(place_))
        for pickled in inspect(folder_, folder_.entries):
            assert pickled.cut_off or pickled.foreign or pickled.entry.size_bytes
