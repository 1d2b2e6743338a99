"""docs/engines.md and docs/zh/engines.md are those of the results in docs/engines.json."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.docs.blocks import ROOT

pytestmark = pytest.mark.process


def test_the_pages_are_those_of_the_results() -> None:
    script = [sys.executable, "scripts/try_engines.py", "--check"]
    done = subprocess.run(script, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{done.stderr}run: python scripts/try_engines.py --page"
