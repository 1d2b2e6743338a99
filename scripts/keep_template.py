# ruff: noqa: INP001 - scripts are no package
"""Keep the present template in the kit, as a part of each release: `npu-adapter update` compares with it later."""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from healthcheck.scaffold import template


def main() -> None:
    """Write the archive; one that is there already has the same bytes."""
    with tempfile.TemporaryDirectory() as scratch:
        archive = template.keep(Path(scratch))
        template.KEPT.mkdir(exist_ok=True)
        print(shutil.copy(archive, template.KEPT / archive.name))


if __name__ == "__main__":
    main()
