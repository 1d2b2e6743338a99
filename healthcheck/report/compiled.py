"""Keeps compiled templates where Python keeps compiled modules: compiling the page takes longer than filling it."""

from __future__ import annotations

import contextlib
import importlib.util
import marshal
import sys
from pathlib import Path
from types import CodeType

import jinja2
from jinja2.bccache import Bucket, BytecodeCache

from healthcheck.system.files import write_atomically


class CompiledTemplates(BytecodeCache):
    """The bytecode of templates, in files of the `__pycache__` of this package.

    A file belongs to one template, one Python and one installation of Jinja. The rules of compiled modules
    apply: the file is as trusted as the package, PYTHONDONTWRITEBYTECODE keeps it from being written, and in a
    read-only folder each run compiles again.
    """

    def load_bytecode(self, bucket: Bucket) -> None:
        """Give the bucket the code of its file, unless that is missing or of another template."""
        head = _head(bucket)
        with contextlib.suppress(OSError, EOFError, TypeError, ValueError):
            stored = _file(bucket).read_bytes()
            code = marshal.loads(stored[len(head) :]) if stored.startswith(head) else None  # noqa: S302 - see the class
            bucket.code = code if isinstance(code, CodeType) else None

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Write the code of the bucket to its file."""
        if sys.dont_write_bytecode or bucket.code is None:
            return
        with contextlib.suppress(OSError):
            write_atomically(_file(bucket), _head(bucket) + marshal.dumps(bucket.code))


def _file(bucket: Bucket) -> Path:
    """The file for a template; `bucket.key` is the digest of its name."""
    module = Path(__file__).with_name(f"template_{bucket.key}.py")
    return Path(importlib.util.cache_from_source(str(module)))


def _head(bucket: Bucket) -> bytes:
    """The beginning of the file: the digest of the template's text, and when this Jinja was installed."""
    installed = Path(jinja2.__file__).stat().st_mtime_ns
    return f"{bucket.checksum} {installed}\n".encode()
