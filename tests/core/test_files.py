"""Files are read with bounds and written whole; devices and pipes are never replaced."""

from __future__ import annotations

import os
import stat
import threading
from pathlib import Path

import pytest

from healthcheck.errors import UsageError
from healthcheck.system.files import read_bounded, write_atomically


def test_a_file_is_replaced_as_a_whole(tmp_path: Path) -> None:
    target = tmp_path / "new folder" / "report.json"
    write_atomically(target, b"first")
    write_atomically(target, b"second")
    assert target.read_bytes() == b"second"
    assert [path.name for path in target.parent.iterdir()] == ["report.json"]


def test_a_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    target = tmp_path / "report.json"
    write_atomically(target, b"old")
    with pytest.raises(TypeError):
        write_atomically(target, "no bytes")  # type: ignore[arg-type]
    assert target.read_bytes() == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["report.json"]


def test_a_pipe_is_written_to_and_stays_a_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    heard: list[bytes] = []
    listener = threading.Thread(target=lambda: heard.append(pipe.read_bytes()))
    listener.start()
    write_atomically(pipe, b"words")
    listener.join(timeout=60)
    assert heard == [b"words"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_what_is_too_long_or_no_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "long").write_bytes(b"x" * 11)
    assert read_bounded(tmp_path / "long", 11) == b"x" * 11
    for path, limit in ((tmp_path / "long", 10), (tmp_path, 10), (tmp_path / "none", 10)):
        with pytest.raises(UsageError):
            read_bounded(path, limit)


def test_a_device_is_written_to_and_not_replaced() -> None:
    keeper, device = os.openpty()
    try:
        place = Path(os.ttyname(device))
        write_atomically(place, b"report")
        assert os.read(keeper, 6) == b"report"
        assert stat.S_ISCHR(place.stat().st_mode)
    finally:
        os.close(keeper)
        os.close(device)
