from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.process

ROOT = Path(__file__).parents[2]


def test_the_tables_of_the_documents_are_those_of_the_measurements() -> None:
    script = ROOT / "scripts" / "make_numerics_tables.py"
    done = subprocess.run([sys.executable, script, "--check"], cwd=ROOT, check=False)
    assert done.returncode == 0, "run: python scripts/make_numerics_tables.py"
