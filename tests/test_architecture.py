"""The house rules that a reader relies on, where no contract of import-linter (pyproject.toml) says them.

Its contracts squash a folder to one module: they see no circle through the `__init__` of a folder, nor one between
the modules of folders that need each other; and nothing at all of a folder without an `__init__`.
"""

from __future__ import annotations

import ast
import graphlib
import importlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import grimp
import pytest

from healthcheck import cli
from healthcheck.core import extensions
from healthcheck.core.check import Check
from healthcheck.stages.plan.dry_run.stubbed_machine import SHARED
from healthcheck.verify import catalogue

ROOT = Path(__file__).parent.parent / "healthcheck"
HEAVY = {
    *(
        "copier",
        "httptools",
        "jinja2",
        "math_verify",
        "msgspec",
        "packaging",
        "psutil",
        "ray",
        "requests",
        "rich",
    ),
    *("tree_sitter", "urllib3", "yaml", "asyncio", "subprocess", "importlib.metadata"),
}

SIMULATOR = "healthcheck.extensions.simulator"
"""The one extension that tests of the core ask."""

Sources = dict[str, str]
Imports = dict[str, set[str]]


def module_name(path: Path) -> str:
    return ".".join(path.relative_to(ROOT.parent).with_suffix("").parts).removesuffix(".__init__")


@pytest.fixture(scope="module")
def sources() -> Sources:
    return {module_name(path): path.read_text("utf-8") for path in sorted(ROOT.rglob("*.py"))}


@pytest.fixture(scope="module")
def imports() -> Imports:
    """Each module of healthcheck with the modules of healthcheck that it imports, anywhere in it."""
    graph = grimp.build_graph("healthcheck", cache_dir=None)
    return {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}


def test_contracts_see_every_module(sources: Sources, imports: Imports) -> None:
    assert sources.keys() == imports.keys(), "a folder has no __init__.py"


def test_no_import_circle(imports: Imports) -> None:
    graphlib.TopologicalSorter(imports).prepare()


def test_no_import_circle_through_a_module_that_is_imported_late(
    sources: Sources, imports: Imports
) -> None:
    late = {module: set(named_for_a_late_import(text)) for module, text in sources.items()}
    assert any(names & imports.keys() for names in late.values())
    graphlib.TopologicalSorter(
        {module: imports[module] | (late[module] & imports.keys()) for module in imports}
    ).prepare()


def named_for_a_late_import(source: str) -> Iterator[str]:
    """The modules that a module imports by their names as strings: `importlib.import_module("…")`."""
    for node in ast.walk(ast.parse(source)):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == "import_module"
            and isinstance(node.args[0], ast.Constant)
        ):
            yield str(node.args[0].value)


def test_stubs_import_only_what_the_sandbox_has(imports: Imports) -> None:
    shared = {f"healthcheck.{name.removesuffix('.py').replace('/', '.')}" for name in SHARED}
    stubs = {
        module for module in imports if module.startswith("healthcheck.stages.plan.dry_run.stubs")
    }
    assert len(stubs) > len(shared)
    strangers = {module: imports[module] - stubs - shared for module in stubs}
    strangers |= {module: imports[module] for module in shared}
    assert not {module: names for module, names in strangers.items() if names}


def check_modules() -> list[str]:
    return [
        module_name(path)
        for path in sorted(ROOT.rglob("checks/*.py"))
        if path.name != "__init__.py"
    ]


def misnamed(name: str) -> str:
    """What is wrong with a module of checks, "" if nothing.

    Its name is the id without the name of its stage: weights/size-limit is weights.checks.size_limit.
    """
    module = importlib.import_module(name)
    checks = {key: value for key, value in vars(module).items() if isinstance(value, Check)}
    own = {key: value for key, value in checks.items() if value.run.__module__ == name}
    if len(own) != 1:
        return f"{name} declares {sorted(own)}"
    if checks != own:
        return f"{name} imports another check: move what both need to a module named by its subject"
    variable, check = own.popitem()
    stage = check.stage.name if ".extensions." in name else name.split(".")[-3]
    expected = check.id.removeprefix(f"{check.stage.name}/").replace("/", "_").replace("-", "_")
    named = (stage, name.rpartition(".")[2], variable) == (check.stage.name, expected, expected)
    return "" if named else f"{name} and its {variable} declare {check.id}: name both {expected}"


def test_a_module_is_named_after_its_one_check() -> None:
    names = check_modules()
    assert names
    assert not list(filter(None, map(misnamed, names)))


def test_every_check_is_in_the_checks_of_its_stage() -> None:
    in_checks = set(check_modules())
    assert {
        page.source.removesuffix(".py").replace("/", ".") for page in catalogue.pages()
    } == in_checks


def imported_by(program: str) -> tuple[str, set[str]]:
    """What a program prints, and the modules that it has imported at its end."""
    code = f"import sys\n{program}\nprint('imported:', *sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT.parent, capture_output=True, text=True, check=True
    )
    printed, _, modules = done.stdout.rpartition("imported:")
    return printed, set(modules.split())


@pytest.mark.smoke
def test_help_imports_no_library_and_no_stage() -> None:
    """Every command prints its help in one process; whatever one of them imported is found."""
    printed, loaded = imported_by(
        "import contextlib\n"
        "from healthcheck import cli\n"
        "for name in cli.COMMANDS:\n"
        "    with contextlib.suppress(SystemExit):\n"
        "        cli.main([name, '--help'])"
    )
    assert printed.count("usage: ") >= len(cli.COMMANDS)
    assert sorted(loaded & HEAVY) == []
    everything, of_the_list = imported_by(
        "import contextlib\nfrom healthcheck import cli\nwith contextlib.suppress(SystemExit):\n    cli.main(['--help'])"
    )
    assert all(f"    {name}" in everything for name in cli.COMMANDS)
    assert sorted(of_the_list & HEAVY) == ["importlib.metadata"], (
        "it lists the commands of extensions"
    )
    assert sorted(loaded & {f"healthcheck.cli.{name}" for name in cli.COMMANDS}) == []
    assert of_stages(loaded) == []


def of_stages(modules: set[str]) -> list[str]:
    return [
        name
        for name in modules
        if name.startswith("healthcheck.")
        and name.endswith((".checks", ".facts", ".repo.records", ".weights.records"))
    ]


@pytest.mark.smoke
def test_help_of_an_own_extension_imports_nothing_but_its_command() -> None:
    commands = {each.name: each.module for each in extensions.own(extensions.COMMANDS)}
    printed, loaded = imported_by(
        "import contextlib\n"
        "from healthcheck import cli\n"
        f"for name in {list(commands)}:\n"
        "    with contextlib.suppress(SystemExit):\n"
        "        cli.main([name, '--help'])"
    )
    assert printed.count("usage: ") == len(commands)
    assert loaded & HEAVY <= {"importlib.metadata"}, "commands of other extensions were looked for"
    assert of_stages(loaded) == []
    in_folders = {
        name
        for name in loaded
        if name.startswith("healthcheck.extensions.") and name.count(".") > 2
    }
    assert {name for name in in_folders if not name.startswith(SIMULATOR)} - {
        *commands.values()
    } <= {
        "healthcheck.extensions.fleet.defaults",
        "healthcheck.extensions.numerics.records",
        "healthcheck.extensions.runner.asked",
    }


def test_the_core_and_its_tests_name_extensions_by_strings_alone() -> None:
    tests = ROOT.parent / "tests"
    naming = [
        str(path)
        for path in tests.rglob("*.py")
        for name in imported_in(path)
        if tests / "extensions" not in path.parents
        and name.startswith(("healthcheck.extensions", "tests.extensions."))
        and not name.startswith(SIMULATOR)
    ]
    assert naming == []


def imported_in(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{each.name}" for each in node.names)
        elif isinstance(node, ast.Import):
            yield from (each.name for each in node.names)


@pytest.mark.smoke
def test_verify_begins_without_what_its_later_stages_need() -> None:
    _, loaded = imported_by("import healthcheck.cli.verify")
    assert "healthcheck.stages.plan.checks" in loaded
    assert (
        sorted(
            loaded
            & {"jinja2", "requests", "urllib3", "httptools", "yaml", "tree_sitter", "asyncio"}
        )
        == []
    )
    later = {"weights", "service", "endpoint", "numerics", "extensions", "fix", "live"}
    assert (
        sorted(later & {name.split(".")[1] for name in loaded if name.startswith("healthcheck.")})
        == []
    )
    assert (
        sorted(
            name
            for name in loaded
            if name.startswith(
                ("healthcheck.stages.probe.grading", "healthcheck.stages.probe.statistics")
            )
        )
        == []
    )


@pytest.mark.smoke
def test_the_page_of_a_check_imports_no_other_stage() -> None:
    _, loaded = imported_by(
        "from healthcheck.core.records import CheckResult, Outcome\n"
        "from healthcheck.core.stages import Stage\n"
        "from healthcheck.verify.catalogue import pages_of\n"
        "failed = CheckResult(id='repo/committed', stage=Stage.REPO, title='', outcome=Outcome.FAIL, why='')\n"
        "assert len(pages_of([failed])) == 1"
    )
    checks = [name for name in of_stages(loaded) if name.endswith(".checks")]
    assert checks == ["healthcheck.stages.repo.checks"]
