"""docs/probe-options.md says what the record of the options says."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from healthcheck.probe.options.reading import from_file
from healthcheck.probe.options.record import given, options
from tests.docs.blocks import ROOT

PAGE = ROOT / "docs" / "probe-options.md"


@pytest.mark.process
def test_the_table_is_that_of_the_record() -> None:
    script = [sys.executable, "scripts/make_probe_options.py", "--check"]
    done = subprocess.run(script, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{done.stderr}run: python scripts/make_probe_options.py"


def test_every_option_is_in_the_table() -> None:
    rows = re.findall(r"^\| `(\w+)`", PAGE.read_text("utf-8"), re.MULTILINE)
    assert sorted(rows) == sorted(option.name for option in options())


def test_the_file_of_the_page_is_one(tmp_path: Path) -> None:
    (block,) = re.findall(r"```toml\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    path = tmp_path / "probe.toml"
    path.write_text(block, "utf-8")
    said = set(given(from_file(path)))
    assert said >= {"system", "few_shot", "api_key_env", "chat_template_kwargs", "extra_body", "datasets"}
