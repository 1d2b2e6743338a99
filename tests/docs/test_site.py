"""The documentation site: built without a warning, and used in a real browser."""

from __future__ import annotations

import functools
import http.server
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from healthcheck.verify import catalogue
from tests.docs.blocks import ROOT
from tests.docs.site_pages import written
from tests.support.chromium import Browser

pytestmark = pytest.mark.slow


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pages, built = written(tmp_path_factory.mktemp("pages")), tmp_path_factory.mktemp("site")
    command = [
        sys.executable,
        "-m",
        "sphinx",
        "--quiet",
        "--fail-on-warning",
        "-c",
        "docs/site",
        pages,
        built,
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return built


@pytest.fixture(scope="module")
def site(folder: Path) -> Iterator[str]:
    handler = functools.partial(Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_every_check_has_a_page(folder: Path) -> None:
    for page in catalogue.pages():
        for place in ("checks", "zh/checks"):
            assert page.id in (folder / place / f"{page.id}.html").read_text("utf-8")


def test_a_page_says_its_language(folder: Path) -> None:
    for page, language in {
        "index": "en",
        "zh/index": "zh-CN",
        "zh/checks/plan/port": "zh-CN",
    }.items():
        assert re.search(
            f'<html[^>]* lang="{language}"', (folder / f"{page}.html").read_text("utf-8")
        )


def test_no_link_of_the_site_leads_nowhere(folder: Path) -> None:
    for page in sorted(folder.rglob("*.html")):
        for target in re.findall(
            r'(?:href|src)="(?!https?:|#|data:|mailto:)([^"#?]+)', page.read_text("utf-8")
        ):
            assert (page.parent / target).exists(), f"{page.relative_to(folder)}: {target}"


@pytest.mark.parametrize("width", [390, 1400])
def test_the_first_page_leads_on_and_loads_nothing_from_elsewhere(
    site: str, browser: Browser, width: int
) -> None:
    tab = browser.open(f"{site}/index.html", width=width)
    assert "A pass here is a pass there." in tab.text()
    assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert tab.evaluate("!!document.querySelector('a[href=\"first-adapter.html\"]')")
    assert all(url.startswith((site, "data:")) for url in tab.requests())
    assert tab.complaints() == []


@pytest.mark.parametrize(
    ("words", "page"),
    [
        ("MODEL_PATH", "checks/plan/model-path"),
        ("prefix cache", "/numerics"),
        ("端口", "zh/checks/plan/port"),
        ("前缀缓存", "zh/numerics"),
        ("张量并行", "zh/mistakes"),
    ],
)
def test_the_search_finds_what_is_meant_in_both_languages(
    words: str, page: str, site: str, browser: Browser
) -> None:
    tab = browser.open(f"{site}/search.html?q={quote(words)}", width=1400)
    tab.wait_for(
        f"[...document.querySelectorAll('#search-results li a')].some(a => a.href.includes('{page}'))"
    )


@pytest.mark.parametrize(("words", "chinese"), [("served name", False), ("vllm 端口", True)])
def test_the_search_has_each_page_once_in_the_language_of_the_query(
    words: str, chinese: bool, site: str, browser: Browser
) -> None:
    tab = browser.open(f"{site}/search.html?q={quote(words)}", width=1400)
    links = "[...document.querySelectorAll('#search-results li a')]"
    tab.wait_for("document.querySelector('#search-results').innerText.includes('Search finished')")
    pages = str(tab.evaluate(f"{links}.map(a => a.pathname).join(' ')")).split()
    assert len(set(pages)) == len(pages) > 1
    assert {"/zh/" in page for page in pages} == {chinese}


def test_the_side_bar_has_one_language(folder: Path) -> None:
    for page, caption, other in (
        ("zh/checks/plan/port", "操作指南", "How-tos"),
        ("numerics", "How-tos", "操作指南"),
    ):
        captions = re.findall(
            'class="caption-text">(.*?)<', (folder / f"{page}.html").read_text("utf-8")
        )
        assert caption in captions
        assert other not in captions
