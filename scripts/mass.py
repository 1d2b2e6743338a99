# ruff: noqa: INP001 - scripts are no package
"""Prints how many statements each room of the kit contains, and the change since a commit.

    python3 scripts/mass.py [BASE]

A statement is a node of the syntax tree (`ast.stmt`); docstrings and other bare constants do not count.
So the figure does not depend on how the code is formatted. It is a report: nothing fails because of it.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = "healthcheck"
NESTED = ("stages", "extensions")
"""Folders whose folders are rooms of their own."""


def main(arguments: list[str]) -> int:
    """Print the table; with a commit, beside the figures of that commit."""
    now = statements(working_copy())
    then = statements(committed(arguments[0])) if arguments else now
    print(f"{'room':<28}{'statements':>12}{'change':>10}")
    for room in sorted(set(now) | set(then)):
        print(f"{room:<28}{now[room]:>12,}{now[room] - then[room]:>+10,}")
    extensions = sum(count for room, count in now.items() if room.startswith("extensions"))
    print(
        f"{'in all':<28}{now.total():>12,}{now.total() - then.total():>+10,}  ({extensions:,} in extensions)"
    )
    return 0


def statements(sources: Iterator[tuple[str, str]]) -> Counter[str]:
    """The number of statements by room, of pairs of a path inside the package and a source."""
    found: Counter[str] = Counter()
    for path, source in sources:
        found[room(path)] += sum(1 for node in ast.walk(ast.parse(source)) if counts(node))
    return found


def counts(node: ast.AST) -> bool:
    """Whether a node is a statement other than a bare constant."""
    is_constant = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return isinstance(node, ast.stmt) and not is_constant


def room(path: str) -> str:
    """The room of a module: its first folder, or its first two below `stages` and `extensions`."""
    folders = PurePosixPath(path).parts[:-1]
    return "/".join(folders[: 2 if folders[:1] and folders[0] in NESTED else 1]) or "(top)"


def working_copy() -> Iterator[tuple[str, str]]:
    """Each module of the package as it is on disk."""
    package = ROOT / PACKAGE
    for path in package.rglob("*.py"):
        yield path.relative_to(package).as_posix(), path.read_text("utf-8")


def committed(revision: str) -> Iterator[tuple[str, str]]:
    """Each module of the package at a commit.

    Raises:
        SystemExit: git does not know the commit.
    """
    for path in git("ls-tree", "-r", "--name-only", revision, f"{PACKAGE}/").splitlines():
        if path.endswith(".py"):
            yield path.removeprefix(f"{PACKAGE}/"), git("show", f"{revision}:{path}")


def git(*arguments: str) -> str:
    """What git prints."""
    done = subprocess.run(
        ["git", "-C", str(ROOT), *arguments], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"mass: {done.stderr.strip()}")
    return done.stdout


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
