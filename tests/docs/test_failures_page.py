"""docs/known-failures.md and its Chinese twin list what the catalogue knows."""

from __future__ import annotations

import subprocess
import sys

import pytest

from healthcheck.service.catalogue import catalogue
from tests.docs.blocks import ROOT


@pytest.mark.process
def test_the_pages_are_those_of_the_catalogue() -> None:
    script = [sys.executable, "scripts/make_failures_page.py", "--check"]
    done = subprocess.run(script, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{done.stderr}run: python scripts/make_failures_page.py"


@pytest.mark.parametrize("name", ["docs/known-failures.md", "docs/zh/known-failures.md"])
def test_every_failure_is_there_once(name: str) -> None:
    page = (ROOT / name).read_text("utf-8")
    assert {page.count(f"\n### {failure.id}\n") for failure in catalogue().failures} == {1}
