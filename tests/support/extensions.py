"""A distribution with entry points, as pip installs one: a module, and a folder of metadata beside it."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from pathlib import Path

EXAMPLE = Path(__file__).parents[2] / "examples" / "own_check" / "own_check.py"
OWN = Path(__file__).parents[2] / "healthcheck" / "extensions"
POINTS = {"checks": "own_check:CHECKS", "commands": "own_check:COMMAND"}


def installed(place: Path, source: str | None = None, points: Mapping[str, str] = POINTS) -> Path:
    """Install the example, or another module under its name; `place` must be on the search path."""
    information = place / "own_check-1.0.dist-info"
    information.mkdir(parents=True)
    (place / "own_check.py").write_text(
        EXAMPLE.read_text("utf-8") if source is None else source, "utf-8"
    )
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: own-check\nVersion: 1.0\n")
    lines = [f"[npu_adapter.{group}]\nlicence = {value}\n" for group, value in points.items()]
    (information / "entry_points.txt").write_text("".join(lines))
    return place


def there(modules: Collection[str]) -> set[str]:
    """The modules, by name or by path below healthcheck, without those of own extensions whose folder is missing."""
    parts = {module: re.split("[./]", module.removeprefix("healthcheck.")) for module in modules}
    return {
        name
        for name, (room, *below) in parts.items()
        if room != "extensions" or (OWN / below[0]).is_dir()
    }
