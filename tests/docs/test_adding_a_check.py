"""docs/adding-a-check.md, followed to the letter in a copy of the project."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from healthcheck.stages.repo.checks import CHECKS
from tests.docs.blocks import ROOT, blocks

PAGE = ROOT / "docs" / "adding-a-check.md"


def copy_of_the_project(folder: Path) -> Path:
    leave = shutil.ignore_patterns("__pycache__", ".*_cache")
    for name in (
        "healthcheck",
        "scripts",
        "docs",
        "templates",
        "tests/docs",
        "tests/repo",
        "tests/support",
    ):
        shutil.copytree(ROOT / name, folder / name, ignore=leave)
    for name in (
        *(
            "CHANGELOG.md",
            "README.md",
            "README.zh-CN.md",
            "babel.cfg",
            "copier.yml",
            "hatch_build.py",
        ),
        *("pyproject.toml", "tests/conftest.py", "tests/test_architecture.py"),
    ):
        shutil.copy(ROOT / name, folder / name)
    return folder


def files(project: Path) -> dict[str, bytes]:
    """What git would see of the project."""
    paths = [
        path for path in project.rglob("*") if path.is_file() and "__pycache__" not in path.parts
    ]
    return {
        path.relative_to(project).as_posix(): path.read_bytes()
        for path in paths
        if path.suffix != ".mo"
    }


@pytest.mark.slow
def test_the_worked_example_works(tmp_path: Path) -> None:
    project = copy_of_the_project(tmp_path)
    before = files(project)
    shown = blocks(PAGE)
    check, import_line, entry, case, sentence = (
        block.body for block in shown if block.language in {"python", "text"}
    )
    assert [len(body.splitlines()) for body in (import_line, entry, case, sentence)] == [1, 1, 1, 1]
    (project / "healthcheck/stages/repo/checks/no_weights.py").write_text(check)
    table = project / "tests/repo/test_pairs.py"
    table.write_text(table.read_text().replace("\nWRONG = {\n", f"\nWRONG = {{\n    {case}", 1))
    checks = project / "healthcheck/stages/repo/checks/__init__.py"
    text = checks.read_text().replace(
        "from healthcheck.stages.repo.checks.committed",
        f"{import_line}from healthcheck.stages.repo.checks.committed",
    )
    checks.write_text(
        re.sub(r"(CHECKS: .* = \(\n.*?)^\)", rf"\1{entry})", text, flags=re.MULTILINE | re.DOTALL)
    )
    changes = project / "CHANGELOG.md"
    changes.write_text(changes.read_text().replace("\n- ", f"\n{sentence}- ", 1))
    tries, messages = (block.commands() for block in shown if block.language == "sh")
    checked, _, explained = [run(project, command) for command in tries]
    pages = len(CHECKS) + 1
    assert f"{2 * pages} passed" in checked, "each check in test_pairs.py, and each page"
    assert "The repository carries no weights" in explained
    after = files(project)
    assert before.keys() <= after.keys()
    assert {name for name in after if after[name] != before.get(name)} == {
        "CHANGELOG.md",
        "healthcheck/stages/repo/checks/__init__.py",
        "healthcheck/stages/repo/checks/no_weights.py",
        "tests/repo/test_pairs.py",
    }
    run(project, "python docs/site/make_pages.py build/pages")
    assert "git rm --cached" in (project / "build/pages/zh/checks/repo/no-weights.md").read_text()
    assert "no translation of 'The repository carries no weights'" in run(project, *messages)


def run(project: Path, command: str) -> str:
    """Run it with this environment's programs on the copy's code; the copy has no environment for `make`."""
    command = command.replace("make messages", ".venv/bin/python scripts/make_messages.py")
    program, _, rest = command.removeprefix(".venv/bin/").partition(" ")
    modules = {"pytest": "pytest -p no:cacheprovider", "npu-adapter": "healthcheck", "python": ""}
    module = f"-m {modules[program]} " if modules[program] else ""
    done = subprocess.run(
        ["sh", "-c", f"{sys.executable} {module}{rest}"],
        cwd=project, env={**os.environ, "PYTHONPATH": str(project), "COLUMNS": "100"}, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout
