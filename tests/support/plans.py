"""Small weights, a repository for a case, and what the checks say of it."""

from __future__ import annotations

import functools
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from healthcheck.ascend.hardware import Devices
from healthcheck.core.ledger import Ledger
from healthcheck.core.progress import Silent
from healthcheck.core.records import CheckResult
from healthcheck.sandbox import box
from healthcheck.sandbox.job import Limits
from healthcheck.stages.plan import facts
from healthcheck.stages.plan.checks import CHECKS, SUMMARIES
from healthcheck.stages.plan.records import LaunchPlan
from healthcheck.stages.repo.facts import read_submission
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
    identity |= {
        "GIT_COMMITTER_NAME": "a",
        "GIT_COMMITTER_EMAIL": "a@example.org",
        "GIT_CONFIG_GLOBAL": os.devnull,
    }
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "adapter"]):
        subprocess.run(["git", *words], cwd=root, check=True, env={**os.environ, **identity})


@functools.cache
def _sandbox() -> box.Box:
    """The one that the kit would choose: it tries each, which takes as long as a dry run."""
    return box.chosen()


def planned(
    root: Path, weights: Path, *, stack: str | None = None, devices: Devices | None = None
) -> LaunchPlan:
    """The plan of a repository."""
    return facts.gather(
        read_submission(root, stack=stack),
        weights,
        limits=Limits(),
        sandbox=_sandbox(),
        devices=devices,
    )


def judged(
    root: Path, weights: Path, *, stack: str | None = None
) -> tuple[LaunchPlan, dict[str, CheckResult]]:
    """The plan of a repository, and what every check says of it."""
    plan = planned(root, weights, stack=stack)
    ledger = Ledger(Silent())
    ledger.judge(CHECKS, lambda: plan)
    ledger.judge(SUMMARIES, lambda: ledger.results)
    return plan, {result.id: result for result in ledger.results}


@dataclass(frozen=True, slots=True)
class Verdict:
    """What every check says of a case, and what the script itself said."""

    results: dict[str, CheckResult]
    script: str

    @property
    def fired(self) -> dict[str, str]:
        """The checks that neither passed nor were skipped, each with its outcome; a skip may be unsettled."""
        outcomes = {
            id_: r.outcome.value if r.settled else "unsettled" for id_, r in self.results.items()
        }
        return {
            id_: outcome for id_, outcome in outcomes.items() if outcome not in {"pass", "skip"}
        }

    def findings(self, *ids: str) -> str:
        """What these checks saw and where, a line each; without ids, what all of them saw."""
        results = [self.results[id_] for id_ in ids or self.results]
        return "\n".join(f"{r.id}: {f.seen} [{f.where}]" for r in results for f in r.findings)
