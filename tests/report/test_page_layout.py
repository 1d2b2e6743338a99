"""The page of a report: documentation of the checks in it, unbroken options, cards at one height."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from healthcheck.cli import main
from healthcheck.report import page
from tests.support import reports
from tests.support.chromium import Browser
from tests.support.repositories import GOOD_SCRIPT, repository

BAD_SCRIPT = GOOD_SCRIPT.replace("8000", "8001 --gpu-memory-utilization 90")


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("layout")
    root = repository(folder / "r", {"deploy.sh": BAD_SCRIPT})
    assert (
        main(["verify", str(root), "--until", "plan", "--quiet", "--out", str(folder / "out")]) == 1
    )
    return folder / "out" / "report.html"


@pytest.mark.process
def test_more_leads_to_the_documentation_in_the_page(file: Path) -> None:
    html = file.read_text()
    links = re.findall(r'<a href="#(page-[\w-]+)">more: npu-adapter explain ([\w/-]+)</a>', html)
    assert sorted(links) == [("page-plan-flags", "plan/flags"), ("page-plan-port", "plan/port")]
    for anchor, check in links:
        article = html.partition(f'<article id="{anchor}"')[2].partition("</article>")[0]
        assert f"<h3>{check}</h3>" in article
        assert "Why it matters: " in article
    assert "http://" not in html.partition('<section id="pages"')[2].partition("</section>")[0]


def test_documentation_is_text_and_belongs_to_findings_alone() -> None:
    pages = {"plan/port": reports.HOSTILE, "repo/deploy-sh-present": "it passed"}
    html = page.render(reports.report(), pages=pages).decode()
    assert html.count("<script") == 1
    assert "it passed" not in html
    assert '<p class="small more">more: npu-adapter explain endpoint/stream</p>' in html


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("pass --port 8000", 'pass <span class="option">--port</span> 8000'),
        ("(--max-model-len)", '(<span class="option">--max-model-len</span>)'),
        ("<b>--port", '&lt;b&gt;<span class="option">--port</span>'),
        ("well-known, a--b, - and 5 - 3", "well-known, a--b, - and 5 - 3"),
        ("--" + "x" * 60, "--" + "x" * 60),
    ],
)
def test_no_line_breaks_within_an_option(text: str, shown: str) -> None:
    assert page.unbroken(text) == shown


@pytest.mark.slow
@pytest.mark.parametrize("width", [1280, 390])
def test_a_browser_breaks_no_option(browser: Browser, file: Path, width: int) -> None:
    tab = browser.open(file, width=width)
    broken = "[...document.querySelectorAll('.option')].filter(e => e.getClientRects().length > 1).length"
    assert tab.evaluate(broken) == 0
    assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert tab.complaints() == []


@pytest.mark.slow
def test_the_cards_of_a_row_begin_at_one_height(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_bytes(page.render(reports.report(simulated=True), reports.run(problems=120)))
    tab = browser.open(path, width=1280)
    tops = (
        "[...document.querySelectorAll('.charts, .facts-grid')].filter(e => e.children.length > 1)"
        ".map(e => e.children[0].getBoundingClientRect().top - e.children[1].getBoundingClientRect().top)"
    )
    found = tab.evaluate(tops)
    assert found
    assert set(found) == {0}
