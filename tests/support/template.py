"""A copy of the template in the working tree, in a folder that is not a git repository."""

from __future__ import annotations

import shutil
from pathlib import Path

ROOT = Path(__file__).parents[2]
KIT = f"git+https://example.org/npu-adapter-kit.git@{'0123456789' * 4}"
"""An address of the kit, for repositories whose workflows are not run."""
SHARED_BY_DESIGN = ("deploy.sh", "requirements.txt", "adapter.toml", "adapter")


def template_in(folder: Path) -> Path:
    """Copy the template and the targets of its links into `folder`, which may be new."""
    folder.mkdir(exist_ok=True)
    for name in ("copier.yml", "templates", *SHARED_BY_DESIGN):
        if (ROOT / name).is_dir():
            shutil.copytree(
                ROOT / name,
                folder / name,
                symlinks=True,
                ignore=shutil.ignore_patterns("__pycache__"),
            )
        else:
            shutil.copy2(ROOT / name, folder / name)
    return folder
