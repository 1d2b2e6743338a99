"""Each check of the stage on a repository with one thing wrong, and on one with nothing wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from healthcheck.core.records import Outcome
from healthcheck.stages.repo.checks import CHECKS
from healthcheck.stages.repo.facts import read_submission
from tests.support.repositories import GOOD_SCRIPT, judged, repository

pytestmark = pytest.mark.process

GOOD = {"deploy.sh": GOOD_SCRIPT, "requirements.txt": "einops==0.8.0\n"}
WRONG = {
    "repo/deploy-sh-present": ({"deploy.sh": "", "scripts/deploy.sh": GOOD_SCRIPT}, Outcome.FAIL),
    "repo/committed": ({}, Outcome.WARN),
    "repo/deploy-sh-syntax": ({"deploy.sh": "#!/bin/sh\nif true; then\n"}, Outcome.FAIL),
    "repo/no-secrets": (
        {"serve.sh": "export HF_TOKEN=hf_aZ3kQ9wLxP7rT2vB8nM4cJ6yD1sF5gH0\n"},
        Outcome.WARN,
    ),
    "repo/settings-parse": ({"adapter.toml": "dtype = \n"}, Outcome.FAIL),
    "repo/requirements-parse": ({"requirements.txt": "einops ==== 1\n"}, Outcome.FAIL),
    "repo/requirements-provided": ({"requirements.txt": "torch==2.1.0\n"}, Outcome.WARN),
    "repo/requirements-stack": ({"requirements.txt": "transformers==4.37.0\n"}, Outcome.WARN),
}


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.id)
def test_it_fires_on_what_is_wrong_and_passes_on_what_is_right(check, tmp_path: Path) -> None:
    changed, outcome = WRONG[check.id]
    wrong = repository(tmp_path / "wrong", {**GOOD, **changed})
    if not changed:
        (wrong / "deploy.sh").write_text(
            f"{GOOD_SCRIPT}# changed after the commit\n", encoding="utf-8"
        )
    found = judged(read_submission(wrong), check.id)
    assert (found.outcome, bool(found.findings)) == (outcome, True), found.findings
    right = judged(read_submission(repository(tmp_path / "right", GOOD)), check.id)
    assert right.outcome is Outcome.PASS, right
