# ruff: noqa: INP001 - scripts are no package
"""Keep the present template in the kit, as a part of each release: `npu-adapter update` compares with it later."""

from __future__ import annotations

import sys
import tempfile
import zipfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from healthcheck.scaffold import template


def main() -> None:
    """Write the archive; an existing one has the same bytes."""
    template.KEPT.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        exported = Path(scratch)
        archive = template.KEPT / f"{template.export(exported)}.zip"
        with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed:
            for path in sorted(path for path in exported.rglob("*") if path.is_file()):
                entry = zipfile.ZipInfo(
                    path.relative_to(exported).as_posix(), (1980, 1, 1, 0, 0, 0)
                )
                entry.external_attr = (0o755 if path.stat().st_mode & 0o100 else 0o644) << 16
                packed.writestr(entry, path.read_bytes(), zipfile.ZIP_DEFLATED)
    print(archive)


if __name__ == "__main__":
    main()
