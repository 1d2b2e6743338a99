"""axe-core finds nothing to complain about on the page of all jobs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from healthcheck.extensions.fleet import page
from healthcheck.text.language import VARIABLE, translation_of_the_process
from tests.extensions.fleet.test_page import FLEET
from tests.report.test_axe import LANGUAGES, opened, violations
from tests.support.chromium import Browser

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("code", LANGUAGES)
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_is_wrong(
    browser: Browser,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    width: int,
    dark: bool,
    code: str,
) -> None:
    monkeypatch.setenv(VARIABLE, code)
    (tmp_path / "page.html").write_bytes(page.render(FLEET, translation_of_the_process()))
    tab = opened(browser, tmp_path / "page.html", width=width, dark=dark)
    assert tab.evaluate("document.documentElement.lang") == LANGUAGES[code]
    assert json.dumps(violations(tab), indent=1) == "[]"
