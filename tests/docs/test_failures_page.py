"""docs/known-failures.md lists what the catalogue knows."""

from __future__ import annotations

import subprocess
import sys

from healthcheck.service.catalogue import catalogue
from tests.docs.blocks import ROOT


def test_the_page_is_that_of_the_catalogue() -> None:
    script = [sys.executable, "scripts/make_failures_page.py", "--check"]
    done = subprocess.run(script, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{done.stderr}run: python scripts/make_failures_page.py"


def test_every_failure_is_there_once() -> None:
    page = (ROOT / "docs/known-failures.md").read_text("utf-8")
    assert {page.count(f"\n### {failure.id}\n") for failure in catalogue().failures} == {1}
