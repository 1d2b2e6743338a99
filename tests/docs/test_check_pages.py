"""docs/checks/ says what the checks say."""

from __future__ import annotations

import subprocess
import sys

import pytest

from healthcheck import catalogue
from tests.docs.blocks import ROOT
from tests.support.page_examples import REPAIRED, WITHOUT, example


@pytest.mark.process
def test_the_pages_are_those_of_the_checks() -> None:
    script = [sys.executable, "scripts/make_check_pages.py", "--check"]
    done = subprocess.run(script, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{done.stderr}run: python scripts/make_check_pages.py"


def test_every_check_is_in_the_index() -> None:
    index = (ROOT / "docs/checks/README.md").read_text("utf-8")
    assert all(f"]({page.id}.md)" in index for page in catalogue.pages())


def test_every_page_shows_what_the_check_objects_to_and_the_repair() -> None:
    without = {page.id for page in catalogue.pages() if not example(page).wrong or REPAIRED not in page.body}
    assert without == WITHOUT.keys()
