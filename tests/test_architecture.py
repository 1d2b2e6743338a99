"""The house rules that a reader relies on: imports point one way, and each third-party library has one owner."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent / "healthcheck"
LAYERS = (
    {"errors", "contract", "records", "redact", "check", "progress", "engine", "nearest", "reasoning", "detectors"},
    {"files", "json_text", "processes", "programs", "isolated", "yaml_text", "stacks", "hardware"},
    {"wire"},
    {"repo"},
    {"plan"},
    {"weights"},
    {"service"},
    {"endpoint"},
    {"probe"},
    {"runner", "simulator"},
    {"report"},
    {"provenance", "fix"},
    {"run"},
    {"live"},
    {"scaffold", "verify", "catalogue"},
    {"cli", "entry", "__main__", "pytest_plugin"},
)
OWNERS = {
    "copier": {"scaffold"},
    "httptools": {"wire"},
    "jinja2": {"weights", "report"},
    "msgspec": {"wire", "json_text"},
    "packaging": {"repo", "stacks"},
    "psutil": {"processes"},
    "requests": {"wire"},
    "rich": {"report"},
    "urllib3": {"wire"},
    "yaml": {"yaml_text"},
}


def modules() -> list[tuple[str, Path]]:
    return [(path.relative_to(ROOT).parts[0].removesuffix(".py"), path) for path in sorted(ROOT.rglob("*.py"))]


def imported(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


@pytest.mark.parametrize(("part", "path"), modules(), ids=lambda value: str(getattr(value, "name", value)))
def test_imports_point_one_way(part: str, path: Path) -> None:
    height = {name: level for level, layer in enumerate(LAYERS) for name in layer}
    height["__init__"] = 0
    assert part in height, f"{part} has no place in LAYERS: decide where it belongs"
    for name in imported(path):
        if name.startswith("healthcheck.") and name != "healthcheck.__version__":
            other = name.split(".")[1]
            same_part_or_below = other == part or height[other] < height[part] or height[other] == height[part] == 0
            assert same_part_or_below or {other, part} <= LAYERS[height[part]], f"{path}: {part} imports {other}"


@pytest.mark.parametrize(("part", "path"), modules(), ids=lambda value: str(getattr(value, "name", value)))
def test_each_library_has_one_owner(part: str, path: Path) -> None:
    for name in {name.split(".")[0] for name in imported(path)} & OWNERS.keys():
        assert part in OWNERS[name], f"{path} imports {name}, which belongs to {sorted(OWNERS[name])}"


def test_no_module_outgrows_a_reader() -> None:
    long = {str(path): count for _, path in modules() if (count := len(path.read_text("utf-8").splitlines())) > 400}
    assert not long
