"""A coverage-guided fuzzer over the reader, for a bounded time, where atheris is installed."""

from __future__ import annotations

import subprocess
import sys

import pytest

SECONDS = 60
PROGRAM = f"""
import sys
import atheris
with atheris.instrument_imports(include=["healthcheck.wire"]):
    from healthcheck.wire.chat import Reader

def one(data):
    cut = data[0] % (len(data) + 1) if data else 0
    whole, parts = Reader(), Reader()
    whole.feed(data)
    parts.feed(data[:cut])
    parts.feed(data[cut:])
    assert whole.close() == parts.close()

atheris.Setup([sys.argv[0], "-max_total_time={SECONDS}", "-max_len=4096", "-rss_limit_mb=1024", "-timeout=5"], one)
atheris.Fuzz()
"""


@pytest.mark.slow
def test_no_bytes_make_the_reader_raise_loop_or_grow() -> None:
    pytest.importorskip("atheris", reason="atheris is not installed here")
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        capture_output=True,
        text=True,
        timeout=4 * SECONDS,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr[-3000:]
