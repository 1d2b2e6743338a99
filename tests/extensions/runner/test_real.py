"""The disks and ports of the real machine."""

from __future__ import annotations

import errno
import os
import socket
import time

import pytest

from healthcheck.extensions.runner.real import RealWholeMachine

MACHINE = RealWholeMachine()


def test_space():
    space = MACHINE.space("/")
    assert 0 <= space.free_bytes <= space.total_bytes
    assert MACHINE.space("/absent") is None


@pytest.mark.parametrize("kept", [0, 70 * 2**20])
def test_a_disk_is_read_for_a_moment(tmp_path, kept):
    if kept:
        (tmp_path / "model.safetensors").write_bytes(b"x" * kept)
    speed = MACHINE.read_speed(str(tmp_path))
    assert 0 < speed.read_bytes <= max(kept, 64 * 2**20)
    assert speed.bytes_per_s > 0
    assert ("model.safetensors" in speed.of) == bool(kept)
    assert [path.name for path in tmp_path.iterdir()] == (["model.safetensors"] if kept else [])
    assert MACHINE.read_speed(str(tmp_path / "absent")) is None


def test_a_reading_that_was_held_up_is_tried_again(tmp_path, monkeypatch):
    (tmp_path / "model.safetensors").write_bytes(b"x" * 70 * 2**20)
    readv, opened, blocks, readings = os.readv, os.open, [], []

    def held_up_once(descriptor, buffers):
        if not blocks:
            time.sleep(1.1)
        blocks.append(readv(descriptor, buffers))
        return blocks[-1]

    def begins(path, flags):
        descriptor = opened(path, flags)
        readings.append(path)
        return descriptor

    monkeypatch.setattr(os, "readv", held_up_once)
    monkeypatch.setattr(os, "open", begins)
    assert MACHINE.read_speed(str(tmp_path)).read_bytes > 0
    assert readings == [f"{tmp_path}/model.safetensors"] * 2


def test_the_cache_of_the_host_stays_as_it_is(tmp_path, monkeypatch):
    (tmp_path / "model.safetensors").write_bytes(b"x" * 70 * 2**20)
    asked = []
    monkeypatch.setattr(os, "posix_fadvise", lambda *arguments: asked.append(arguments))
    opened = os.open

    def without_direct(path, flags):
        if flags & os.O_DIRECT:
            raise OSError(errno.EINVAL, "no direct reading here")
        return opened(path, flags)

    assert not MACHINE.read_speed(str(tmp_path)).cached
    monkeypatch.setattr(os, "open", without_direct)
    assert MACHINE.read_speed(str(tmp_path)).cached
    assert not asked


@pytest.mark.process
def test_who_holds_a_port():
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        (holder,) = MACHINE.port_holders(server.getsockname()[1])
        assert holder.process.pid == os.getpid()
