"""Small weights, and a repository for a case."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from healthcheck.engine import Ledger
from healthcheck.plan import facts as plan_facts
from healthcheck.plan.checks import CHECKS
from healthcheck.plan.records import LaunchPlan
from healthcheck.progress import Silent
from healthcheck.records import CheckResult
from healthcheck.repo.facts import read_submission
from tests.plan.corpus import Case


@pytest.fixture(scope="session")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("weights") / "Tiny-Chat"
    folder.mkdir()
    (folder / "config.json").write_text('{"model_type": "qwen3", "max_position_embeddings": 2048}')
    (folder / "tokenizer_config.json").write_text("{}")
    (folder / "model.safetensors").write_bytes(b"\x02\0\0\0\0\0\0\0{}")
    (folder / "model.gguf").write_bytes(b"GGUF")
    for place in (folder, *folder.iterdir()):
        place.chmod(0o755 if place.is_dir() else 0o644)
    return folder


def write(case: Case, root: Path) -> Path:
    """The case as a git repository of one commit."""
    for path, text in case.files.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        file.chmod(0o755 if text.startswith("#!") else 0o644)
    if case.untracked:
        _commit(root)
        for path, text in case.untracked.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text, encoding="utf-8")
    return root


def _commit(root: Path) -> None:
    identity = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@example.org"}
    identity |= {"GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@example.org", "GIT_CONFIG_GLOBAL": os.devnull}
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "adapter"]):
        subprocess.run(["git", *words], cwd=root, check=True, env={**os.environ, **identity})


def judged(root: Path, weights: Path) -> tuple[LaunchPlan, dict[str, CheckResult]]:
    """The plan of a repository, and what every check says of it."""
    plan = plan_facts.gather(read_submission(root), weights)
    ledger = Ledger(Silent())
    ledger.judge(CHECKS, lambda: plan)
    return plan, {result.id: result for result in ledger.results}
