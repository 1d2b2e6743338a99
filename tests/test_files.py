from __future__ import annotations

import os
import stat
from pathlib import Path

from healthcheck.files import write_atomically


def test_a_pipe_is_written_to_and_stays_a_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reading = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_atomically(pipe, b"{}")
    assert os.read(reading, 9) == b"{}"
    os.close(reading)
    assert stat.S_ISFIFO(pipe.stat().st_mode), "as root, /dev/null would be gone for everybody"
