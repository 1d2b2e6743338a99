"""A committed secret is named, and stays hidden."""

from __future__ import annotations

from pathlib import Path

import pytest

from healthcheck.stages.repo.facts import read_submission
from tests.support.repositories import GOOD_SCRIPT, judged, repository

pytestmark = pytest.mark.process


def test_a_secret_that_is_hidden_is_not_told_as_one_that_is_gone(tmp_path: Path) -> None:
    secret = {"serve.sh": "vllm serve x --api-key hf_aZ3kQ9wLxP7rT2vB8nM4cJ6yD1sF5gH0\n"}
    root = repository(tmp_path / "wrong", {"deploy.sh": GOOD_SCRIPT, **secret})
    (found,) = judged(read_submission(root), "repo/no-secrets").findings
    assert found.seen == "vllm serve x --api-key removed, where “removed” stands for the secret"
