"""A run gives the repository as a shell finds it."""

from __future__ import annotations

from pathlib import Path

import pytest

from healthcheck.core.progress import Silent
from healthcheck.verify.run import Request, Run


def test_a_home_that_the_caller_did_not_expand_is_expanded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    asked = Request(root=Path("~/repo"), weights=None, out=tmp_path)
    assert Run(asked, Silent()).folder() == str(tmp_path / "repo")
