# ruff: noqa: INP001 - scripts are no package
"""Refuse a change that deletes a case of a corpus without saying so.

    python3 scripts/removed_cases.py [BASE]

Compares the names of the cases at BASE and at HEAD. Each name that is gone needs a line in the message of a commit
between the two: `Removes-case: NAME, because …`. Exits with 1 if a line is missing. Without BASE, the comparison
begins at the commit that added this script, or 200 commits ago.

A case is a call of `case(…)` or `Case(name=…)`, a row of a dictionary in capitals at the top of a test module,
or an entry of a corpus in TOML. A case that moves to another module keeps its name.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MOST_COMMITS = 200
REMOVES = re.compile(r"^Removes-case: (.+?), because \S", re.MULTILINE)
LOGGED = re.compile(r'^issue = "([^"]+)"$', re.MULTILINE)


def main(arguments: list[str]) -> int:
    """Print the cases that were deleted without a word; returns 1 if there are any."""
    base = arguments[0] if arguments else beginning()
    messages = git("log", "--format=%B", f"{base}..HEAD")
    stated = Counter(REMOVES.findall(messages))
    missing = names(base) - names("HEAD") - stated
    for name in sorted(missing):
        print(
            f"the case “{name}” is gone: a commit message needs the line “Removes-case: {name}, because …”"
        )
    return 1 if missing else 0


def beginning() -> str:
    """The oldest commit to compare with."""
    added = git(
        "log", "--diff-filter=A", "--format=%H", "--", Path(__file__).relative_to(ROOT).as_posix()
    ).split()
    recent = git("rev-list", f"--max-count={MOST_COMMITS}", "HEAD").split()
    return added[-1] if added and added[-1] in recent else recent[-1]


def names(revision: str) -> Counter[str]:
    """How often each name of a case occurs at a commit."""
    found: Counter[str] = Counter()
    for path in git("ls-tree", "-r", "--name-only", revision, "tests/").splitlines():
        if path.endswith(".py"):
            found.update(cases_of(git("show", f"{revision}:{path}")))
        elif path.endswith(".toml"):
            found.update(LOGGED.findall(git("show", f"{revision}:{path}")))
    return found


def cases_of(source: str) -> Iterator[str]:
    """The names of the cases in a module."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in {"case", "Case"}:
            given = [
                keyword.value for keyword in node.keywords if keyword.arg == "name"
            ] or node.args[:1]
            yield from texts(given)
    for statement in tree.body:
        if isinstance(statement, (ast.Assign, ast.AnnAssign)) and isinstance(
            statement.value, ast.Dict
        ):
            target = statement.targets[0] if isinstance(statement, ast.Assign) else statement.target
            if isinstance(target, ast.Name) and target.id.isupper():
                yield from texts(statement.value.keys)


def texts(nodes: list[ast.expr] | list[ast.expr | None]) -> Iterator[str]:
    """The nodes that are constant texts."""
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def git(*arguments: str) -> str:
    """What git prints.

    Raises:
        SystemExit: git does not know the commit.
    """
    done = subprocess.run(
        ["git", "-C", str(ROOT), *arguments], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"removed_cases: {done.stderr.strip()}")
    return done.stdout


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
