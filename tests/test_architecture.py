"""The house rules that a reader relies on: where imports may point, which module holds which check, and their size."""

from __future__ import annotations

import ast
import graphlib
import importlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from healthcheck import catalogue
from healthcheck.check import Check
from healthcheck.plan.dry_run.stubbed_machine import SHARED

ROOT = Path(__file__).parent.parent / "healthcheck"
LAYERS = (
    {
        "errors",
        "extras",
        "contract",
        "records",
        "redact",
        "secret_shapes",
        "check",
        "progress",
        "engine",
        "language",
        "phrases",
        "nearest",
        "reasoning",
        "detectors",
    },
    {
        "files",
        "json_text",
        "processes",
        "programs",
        "isolated",
        "toml_text",
        "yaml_text",
        "schemes",
        "stacks",
        "hardware",
    },
    {"wire"},
    {"sandbox"},
    {"repo"},
    {"plan"},
    {"weights"},
    {"service"},
    {"endpoint"},
    {"probe"},
    {"numerics"},
    {"runner", "simulator"},
    {"report"},
    {"provenance", "ran", "fix"},
    {"run"},
    {"live"},
    {"scaffold", "verify", "catalogue"},
    {"fleet"},
    {"cli", "entry", "__main__", "pytest_plugin"},
)
OWNERS = {
    "copier": {"scaffold"},
    "httptools": {"wire"},
    "jinja2": {"weights", "report", "fleet"},
    "math_verify": {"probe"},
    "msgspec": {"wire", "json_text"},
    "packaging": {"repo", "stacks"},
    "psutil": {"processes"},
    "ray": {"fleet"},
    "requests": {"wire"},
    "rich": {"report", "fleet"},
    "tomli": {"toml_text"},
    "tomllib": {"toml_text"},
    "tree_sitter": {"repo"},
    "tree_sitter_bash": {"repo"},
    "urllib3": {"wire"},
    "yaml": {"yaml_text"},
}

MAX_MODULE_LINES = 400
MAX_CHECK_LINES = 40


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


def module_name(path: Path) -> str:
    return ".".join(path.relative_to(ROOT.parent).with_suffix("").parts).removesuffix(".__init__")


def import_graph() -> dict[str, set[str]]:
    """Each module of healthcheck with the modules of healthcheck that it imports, anywhere in it."""
    names = {module_name(path): path for _, path in modules()}
    graph: dict[str, set[str]] = {}
    for module, path in names.items():
        graph[module] = {
            name if name in names else name.rpartition(".")[0] for name in imported(path)
        } & names.keys()
    return graph


def test_imports_are_absolute() -> None:
    for _, path in modules():
        tree = ast.parse(path.read_text(encoding="utf-8"))
        assert not [node.lineno for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.level], path


def test_no_import_circle() -> None:
    graphlib.TopologicalSorter(import_graph()).prepare()


def test_stubs_import_only_what_the_sandbox_has() -> None:
    graph = import_graph()
    shared = {f"healthcheck.{name.removesuffix('.py').replace('/', '.')}" for name in SHARED}
    stubs = {module for module in graph if module.startswith("healthcheck.plan.dry_run.stubs")}
    assert len(stubs) > len(shared)
    for module in stubs | shared:
        assert graph[module] <= (stubs | shared if module in stubs else set()), module


def check_modules() -> list[str]:
    return [module_name(path) for path in sorted(ROOT.glob("*/checks/*.py")) if path.name != "__init__.py"]


@pytest.mark.parametrize("name", check_modules())
def test_a_module_is_named_after_its_one_check(name: str) -> None:
    """The id without the name of its stage: weights/size-limit is weights.checks.size_limit."""
    module = importlib.import_module(name)
    checks = {key: value for key, value in vars(module).items() if isinstance(value, Check)}
    own = {key: value for key, value in checks.items() if value.run.__module__ == name}
    assert len(own) == 1, f"{name} declares {sorted(own)}"
    assert checks == own, f"{name} imports another check: move what both need to a module named by its subject"
    (variable, check), stage = own.popitem(), name.split(".")[1]
    expected = check.id.removeprefix(f"{check.stage.value}/").replace("/", "_").replace("-", "_")
    assert (stage, name.rpartition(".")[2], variable) == (check.stage.value, expected, expected)


def test_every_check_is_in_the_checks_of_its_stage() -> None:
    in_checks = set(check_modules())
    assert {page.source.removesuffix(".py").replace("/", ".") for page in catalogue.pages()} == in_checks


def declares(decorator: ast.expr) -> bool:
    return isinstance(decorator, ast.Call) and isinstance(decorator.func, ast.Name) and decorator.func.id == "check"


def functions_of_checks() -> Iterator[tuple[str, ast.FunctionDef]]:
    """The functions that declare checks, wherever they are, and the others in the modules of checks."""
    in_checks = set(check_modules())
    for path in sorted(ROOT.rglob("*.py")):
        functions = (
            node
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            if isinstance(node, ast.FunctionDef)
        )
        for node in functions:
            if module_name(path) in in_checks or any(map(declares, node.decorator_list)):
                yield f"{module_name(path)}.{node.name}", node


def code_lines(function: ast.FunctionDef) -> int:
    """Without decorators and docstring, which is a check's page."""
    start = function.body[0].end_lineno if ast.get_docstring(function) is not None else function.lineno - 1
    return (function.end_lineno or 0) - (start or 0)


def test_no_check_outgrows_a_reader() -> None:
    found = dict(functions_of_checks())
    assert len(found) >= len(catalogue.pages())
    long = {name: count for name, node in found.items() if (count := code_lines(node)) > MAX_CHECK_LINES}
    assert not long


def test_no_module_outgrows_a_reader() -> None:
    long = {
        str(path): count
        for _, path in modules()
        if (count := len(path.read_text("utf-8").splitlines())) > MAX_MODULE_LINES
    }
    assert not long
