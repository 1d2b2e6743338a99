"""docs/adding-a-check.md, followed to the letter in a copy of the project."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from healthcheck.repo.checks import CHECKS
from tests.docs.blocks import ROOT, blocks

PAGE = ROOT / "docs" / "adding-a-check.md"


def copy_of_the_project(folder: Path) -> Path:
    leave = shutil.ignore_patterns("__pycache__", ".*_cache")
    for name in ("healthcheck", "scripts", "docs", "tests/repo", "tests/support"):
        shutil.copytree(ROOT / name, folder / name, ignore=leave)
    for name in ("pyproject.toml", "tests/conftest.py"):
        shutil.copy(ROOT / name, folder / name)
    return folder


def test_the_worked_example_works(tmp_path: Path) -> None:
    project = copy_of_the_project(tmp_path)
    check, import_line, case = (block.body for block in blocks(PAGE) if block.language == "python")
    lines = sum(1 for body in (check, import_line, case) for line in body.splitlines() if line.strip())
    assert lines + 1 <= 30, "with the entry in CHECKS"
    (project / "healthcheck/repo/checks/no_weights.py").write_text(check)
    table = project / "tests/repo/test_pairs.py"
    table.write_text(table.read_text().replace("\nWRONG = {\n", f"\nWRONG = {{\n    {case}", 1))
    checks = project / "healthcheck/repo/checks/__init__.py"
    text = checks.read_text().replace(
        "from healthcheck.repo.checks.committed", f"{import_line}from healthcheck.repo.checks.committed"
    )
    checks.write_text(re.sub(r"(CHECKS: .* = \()", r"\1\n    no_weights,", text))
    shown = next(block for block in blocks(PAGE) if block.language == "sh").commands()
    assert len(shown) == 3
    printed = [run(project, command) for command in shown]
    assert f"{len(CHECKS) + 1} passed" in printed[0]
    assert "The repository carries no weights" in printed[2]
    assert "git rm --cached" in (project / "docs/checks/repo/no-weights.md").read_text()


def run(project: Path, command: str) -> str:
    """Run it with this environment's programs on the copy's code."""
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
