"""Repositories, weights and files that once broke the kit itself: each gets a verdict or a message, in time."""

from __future__ import annotations

import io
import json
import os
import struct
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.repositories import GOOD_SCRIPT, folder, git, repository

SECONDS = 60


def kit(*words: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        (sys.executable, "-I", "-m", "healthcheck", *words),
        cwd="/", input=stdin, capture_output=True, text=True, timeout=SECONDS, check=False,
    )  # fmt: skip


def lacks_a_blob(root: Path) -> None:
    repository(root, {"deploy.sh": GOOD_SCRIPT, "a/b.txt": "hello"})
    object_ = git(root, "rev-parse", "HEAD:a/b.txt").strip()
    (root / ".git/objects" / object_[:2] / object_[2:]).unlink()


def long_script(root: Path) -> None:
    repository(root, {"deploy.sh": f"{GOOD_SCRIPT}#{'x' * (1 << 20)}\n"})


def deep(root: Path) -> None:
    folder(root, {"deploy.sh": GOOD_SCRIPT})
    here = os.open(root, os.O_RDONLY)
    for _ in range(1500):
        os.mkdir("d", dir_fd=here)
        inner = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = inner
    os.close(here)


def makes_deep_folders(root: Path) -> None:
    code = "import os\nfor _ in range(3000):\n    os.mkdir('d')\n    os.chdir('d')\n"
    folder(
        root,
        {"deploy.sh": f"#!/bin/sh\npython3 deep.py\ncd - || cd /\n{GOOD_SCRIPT}", "deep.py": code},
    )


def one_line_of_megabytes(root: Path) -> None:
    folder(
        root, {"deploy.sh": "#!/bin/bash\nhead -c 15000000 /dev/zero | tr '\\0' x >&2\nexit 3\n"}
    )


def word_of_a_megabyte(root: Path) -> None:
    folder(root, {"deploy.sh": f"#!/bin/bash\n{'x' * 900_000}\n{GOOD_SCRIPT}"})


REPOSITORIES: dict[str, tuple[Callable[[Path], None], set[int]]] = {
    "lacks a blob": (lacks_a_blob, {2}),
    "a long script": (long_script, {0, 1}),
    "folders in folders": (deep, {2}),
    "makes folders in folders": (makes_deep_folders, {0, 1}),
    "one line": (one_line_of_megabytes, {1}),
    "one word": (word_of_a_megabyte, {0, 1}),
}


@pytest.mark.process
@pytest.mark.parametrize("name", REPOSITORIES)
def test_a_hostile_repository_gets_an_answer_in_time(name: str, tmp_path: Path) -> None:
    make, statuses = REPOSITORIES[name]
    make(tmp_path / "r")
    (tmp_path / "w").mkdir()
    (tmp_path / "w/config.json").write_text("{}")
    done = kit(
        "verify",
        str(tmp_path / "r"),
        "--weights",
        str(tmp_path / "w"),
        "--until",
        "plan",
        "--quiet",
    )
    subprocess.run(["rm", "-rf", str(tmp_path / "r")], check=True)
    assert done.returncode in statuses, done.stdout + done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.process
@pytest.mark.parametrize("place", ["/dev/zero", "fifo", "folder"])
def test_a_log_that_is_none_is_told_at_once(place: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "folder").mkdir()
    assert kit("diagnose", str(tmp_path / place)).returncode in {2, 3}


@pytest.mark.parametrize("kind", ["link", "fifo", "device"])
def test_a_journal_that_is_none_is_not_continued(kind: str, tmp_path: Path) -> None:
    from healthcheck.errors import UsageError
    from healthcheck.stages.probe.run.journal import Journal, read

    journal, other = tmp_path / "samples.jsonl", tmp_path / "other"
    other.write_text("untouched")
    if kind == "fifo":
        os.mkfifo(journal)
    else:
        journal.symlink_to(other if kind == "link" else "/dev/zero")
    with pytest.raises(UsageError):
        read(journal)
    with pytest.raises(UsageError):
        Journal(journal)
    assert other.read_text() == "untouched"


NUMBERS = ("NaN", "-Infinity", "[]", "{}", '"x"', "null", "true", "-1", "0")
KEYS = ("hidden_size", "num_hidden_layers", "num_attention_heads", "vocab_size")


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("key", KEYS)
def test_a_configuration_without_its_numbers_is_not_ready(
    number: str, key: str, tmp_path: Path
) -> None:
    from healthcheck.stages.weights.checks.config import wrong
    from healthcheck.stages.weights.documents import parse_object

    whole = {
        "hidden_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "vocab_size": 100,
        "head_dim": None,
    }
    assert not list(wrong(parse_object(json.dumps(whole).encode())))
    text = json.dumps({name: value for name, value in whole.items() if name != key})
    ((found, _, _),) = wrong(parse_object(f'{text[:-1]}, "{key}": {number}}}'.encode()))
    assert found == key
    ((inside, _, _),) = wrong(
        parse_object(f'{{"text_config": {text[:-1]}, "{key}": {number}}}}}'.encode())
    )
    assert inside == f"text_config.{key}"


def claims(place: Path, *, long: bool) -> Path:
    """A sparse zip file of gigabytes whose end record claims that all of it is the directory."""
    size = 3 * 2**30
    with place.open("wb") as file:
        file.write(b"PK\x03\x04")
        file.truncate(size)
        file.seek(size)
        if long:
            file.write(
                struct.pack("<4sQ2H2L4Q", b"PK\x06\x06", 44, 45, 45, 0, 0, 1, 1, size - 4, 4)
            )
            file.write(struct.pack("<4sLQL", b"PK\x06\x07", 0, size, 1))
        ends = (0xFFFF, 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF) if long else (1, 1, size - 4, 4)
        file.write(struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, *ends, 0))
    return place


@pytest.mark.process
@pytest.mark.parametrize("long", [True, False])
def test_a_zip_is_not_believed_how_long_its_directory_is(long: bool, tmp_path: Path) -> None:
    place = claims(tmp_path / "pytorch_model.bin", long=long)
    code = (
        "import resource, sys\nfrom pathlib import Path\n"
        "from healthcheck.stages.weights.folder import list_folder\nfrom healthcheck.stages.weights.pickles import inspect\n"
        "resource.setrlimit(resource.RLIMIT_AS, (2**30, 2**30))\n"
        "folder = list_folder(Path(sys.argv[1]).parent)\nprint(len(list(inspect(folder, folder.entries))))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(place)], capture_output=True, text=True, check=False
    )
    assert done.stdout.split() == ["1"], done.stderr


@pytest.mark.parametrize(
    "name", ["garbage", "zip of nothing", "broken directory", "encrypted", "cut off", "page"]
)
def test_a_file_that_torch_cannot_load_is_told(name: str, tmp_path: Path) -> None:
    from healthcheck.stages.weights.folder import list_folder
    from healthcheck.stages.weights.pickles import inspect

    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr("archive/data.pkl", b"\x80\x02N.")
    good = made.getvalue()
    directory = good.index(b"PK\x01\x02")
    empty = io.BytesIO()
    with zipfile.ZipFile(empty, "w") as archive:
        archive.writestr("zeros", bytes(1000))
    data = {
        "garbage": b"\x00garbage" * 100,
        "zip of nothing": empty.getvalue(),
        "broken directory": good[:directory] + b"XX" + good[directory + 2 :],
        "encrypted": good[: directory + 8] + b"\x01" + good[directory + 9 :],
        "cut off": good[:-30],
        "page": b"<html>404</html>",
    }[name]
    (tmp_path / "pytorch_model.bin").write_bytes(data)
    folder_ = list_folder(tmp_path)
    (found,) = inspect(folder_, folder_.entries)
    assert found.foreign or found.cut_off
    (tmp_path / "pytorch_model.bin").write_bytes(good)
    folder_ = list_folder(tmp_path)
    (found,) = inspect(folder_, folder_.entries)
    assert not found.foreign
    assert not found.cut_off
