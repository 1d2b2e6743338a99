"""axe-core finds nothing to complain about on any page, in light and dark, on a phone and at a desk."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from importlib import resources
from pathlib import Path

import pytest

from healthcheck.core.records import Outcome, Verdict
from healthcheck.report import page
from healthcheck.text.language import VARIABLE, translation_of_the_process
from tests.support import reports
from tests.support.chromium import Browser, Tab

pytestmark = pytest.mark.slow
LANGUAGES = {"en": "en", "zh": "zh-CN"}
"""What the pages exist in, with the attribute `lang` of each."""
BROKEN = (
    "document.querySelector('h1').remove(); document.querySelector('a').style.color = 'rgb(160, 160, 160)';"
    " document.documentElement.lang = ''"
)


def not_ready(_: Path) -> bytes:
    return page.render(reports.report(simulated=True), reports.run(), translation_of_the_process())


def ready(_: Path) -> bytes:
    report = reports.report()
    passed = tuple(
        replace(each, outcome=Outcome.PASS, settled=True, findings=()) for each in report.results
    )
    return page.render(
        replace(report, verdict=Verdict.READY, results=passed, metrics={}),
        translation=translation_of_the_process(),
    )


PAGES: dict[str, Callable[[Path], bytes]] = {made.__name__: made for made in (not_ready, ready)}


@cache
def axe() -> str:
    """The script of axe-core."""
    return (resources.files("axe_playwright_python") / "axe.min.js").read_text("utf-8")


def violations(tab: Tab) -> list[str]:
    """What axe-core objects to, with the elements. The script comes by the debugger, which no policy of a page binds."""
    tab.evaluate(f"{axe()}; 0")
    found = tab.evaluate(
        "axe.run(document, {preload: false, resultTypes: ['violations']}).then(found => found.violations.map("
        "rule => `${rule.id}: ${rule.help}: ${rule.nodes.slice(0, 5).map(node => node.html.slice(0, 200)).join(' | ')}`))"
    )
    assert isinstance(found, list)
    return found


def opened(browser: Browser, path: Path, *, width: int, dark: bool) -> Tab:
    """A page with all its details."""
    tab = browser.open(path, width=width, dark=dark)
    tab.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true })")
    return tab


@pytest.fixture(
    scope="module", params=[(code, name) for code in LANGUAGES for name in PAGES], ids="-".join
)
def file(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, str]:
    code, name = request.param
    folder = tmp_path_factory.mktemp(name)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(VARIABLE, code)
        (folder / "page.html").write_bytes(PAGES[name](folder))
    return folder / "page.html", LANGUAGES[code]


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_is_wrong(browser: Browser, file: tuple[Path, str], width: int, dark: bool) -> None:
    path, language = file
    tab = opened(browser, path, width=width, dark=dark)
    assert tab.evaluate("document.documentElement.lang") == language
    if tab.evaluate("!!document.querySelector('#grid button.wrong')"):
        tab.click("#grid button.wrong")
    assert json.dumps(violations(tab), indent=1) == "[]"


def test_axe_finds_what_is_wrong(browser: Browser, tmp_path: Path) -> None:
    (tmp_path / "page.html").write_bytes(ready(tmp_path))
    tab = browser.open(tmp_path / "page.html", width=1280)
    tab.evaluate(BROKEN)
    rules = {each.split(":")[0] for each in violations(tab)}
    assert rules >= {"color-contrast", "html-has-lang", "page-has-heading-one"}
