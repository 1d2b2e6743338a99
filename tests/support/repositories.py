"""Submissions on disk: plain folders and git repositories, made from a table of paths and contents."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from healthcheck.core.check import Check
from healthcheck.core.records import CheckResult, Level
from healthcheck.stages.repo.checks import CHECKS
from healthcheck.stages.repo.records import Submission

GOOD_SCRIPT = '#!/bin/sh\nset -eu\nexec vllm serve "$MODEL_PATH" --host 0.0.0.0 --port 8000\n'


def folder(root: Path, files: Mapping[str, str | bytes]) -> Path:
    """Write the files; scripts get their executable bit."""
    root.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        path.chmod(0o755 if name.endswith(".sh") else 0o644)
    return root


def git(root: Path, *arguments: str) -> str:
    """Run git in a repository as an author would, without the machine's own configuration."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(root.parent), "GIT_CONFIG_NOSYSTEM": "1"}
    identity = (
        "-c",
        "user.name=Author",
        "-c",
        "user.email=author@example.org",
        "-c",
        "init.defaultBranch=main",
    )
    command = ("git", "-C", str(root), *identity, *arguments)
    return subprocess.run(
        command, env=environment, check=True, capture_output=True, text=True
    ).stdout


def repository(root: Path, files: Mapping[str, str | bytes]) -> Path:
    """A git repository with one commit of the files."""
    folder(root, files)
    git(root, "init", "-q")
    git(root, "add", "-A", "-f")
    git(root, "commit", "-q", "--allow-empty", "-m", "First version")
    return root


def judged(submission: Submission, check_id: str) -> CheckResult:
    """The result of one check of the repo stage."""
    check: Check[Submission] = next(each for each in CHECKS if each.id == check_id)
    return check.judge(submission)


def seen(result: CheckResult, level: Level) -> list[str]:
    """`where` and `seen` of the findings of a level."""
    return [f"{found.where} {found.seen}" for found in result.findings if found.level is level]
