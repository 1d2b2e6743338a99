"""The page of two runs in a real Chromium, and what axe-core says of it."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from healthcheck.cli import main
from healthcheck.text.language import VARIABLE
from tests.probe.conftest import SETTINGS, recorded
from tests.report.test_axe import LANGUAGES, opened, violations
from tests.report.test_browser import WIDTHS
from tests.support.chromium import Browser

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("code", LANGUAGES)
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS.values())
def test_axe_finds_nothing(
    browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, width: int, dark: bool, code: str
) -> None:
    monkeypatch.setenv(VARIABLE, code)
    few = replace(SETTINGS, problems=12)
    first = recorded(tmp_path / "a", 0.9, seed=1, settings=few)
    second = recorded(tmp_path / "b", 0.5, seed=2, settings=few)
    main(["compare", str(first), str(second), "--html", str(tmp_path / "c.html")])
    tab = opened(browser, tmp_path / "c.html", width=width, dark=dark)
    assert tab.evaluate("document.documentElement.lang") == LANGUAGES[code]
    assert json.dumps(violations(tab), indent=1) == "[]"


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", WIDTHS.values())
def test_the_page_of_two_runs_fits_and_calls_nothing(
    browser: Browser, tmp_path: Path, width: int, dark: bool
) -> None:
    first, second = recorded(tmp_path / "a", 0.9, seed=1), recorded(tmp_path / "b", 0.5, seed=2)
    path = tmp_path / "c.html"
    main(["compare", str(first), str(second), "--html", str(path)])
    tab = browser.open(path, width=width, dark=dark)
    assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert tab.complaints() == []
    assert tab.requests() == [path.as_uri()]
    assert tab.evaluate("document.querySelectorAll('.pairs li').length") == 60
    levels = tab.evaluate("[...document.querySelectorAll('h1, h2, h3')].map(h => Number(h.tagName[1]))")
    assert levels[0] == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
