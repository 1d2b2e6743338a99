"""The documentation site, with search, from the pages that make_pages.py writes. `make docs` builds it.

The Chinese pages are in zh/. One search serves both languages, and shows the pages in the reader's (scorer.js).
"""

from __future__ import annotations

import re
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.search.en import SearchEnglish

from healthcheck import __version__

project = "npu-adapter-kit"
release = version = __version__
copyright = "the authors of npu-adapter-kit, Apache-2.0"  # noqa: A001 - the name that Sphinx reads
extensions = ["myst_parser"]
root_doc = "index"
language = "en"
html_search_language = "en-zh"
suppress_warnings = ["misc.highlighting_failure", "myst.header", "toc.not_included"]
myst_heading_anchors = 4
html_theme = "furo"
html_title = f"npu-adapter-kit {__version__}"
html_favicon = "favicon.svg"
html_show_sphinx = False
html_search_scorer = str(Path(__file__).with_name("scorer.js"))
_PART = re.compile(
    r'<p class="caption".*?<span class="caption-text">(.*?)</span>.*?(?=<p class="caption"|$)',
    re.DOTALL,
)
_CHINESE = re.compile("[\u4e00-\u9fff]")


class SearchBoth(SearchEnglish):
    """English words, and each pair of Chinese characters: no dictionary has to know a term that is looked for.

    A query is cut in the same way, and a page has to have all of its pairs.
    """

    lang = "en-zh"
    _terms = re.compile(r"[\u4e00-\u9fff]+|(?:(?![\u4e00-\u9fff])\w)+")
    js_splitter_code = r"""
var splitQuery = (query) =>
  (query.match(/[\u4e00-\u9fff]+|[^\u4e00-\u9fff\W]+/gu) || []).flatMap((term) =>
    /[\u4e00-\u9fff]{3}/.test(term) ? [...term].slice(1).map((next, at) => term[at] + next) : [term]);
"""

    def split(self, input: str) -> list[str]:  # noqa: A002 - the name that Sphinx gives it
        """The terms of a text."""
        return [pair for term in self._terms.findall(input) for pair in _pairs(term)]


def _pairs(term: str) -> list[str]:
    """A term, or the pairs of a Chinese one that has three characters or more."""
    if len(term) < 3 or not "\u4e00" <= term[0] <= "\u9fff":
        return [term]
    return [term[at : at + 2] for at in range(len(term) - 1)]


def say_language(
    app: Sphinx, name: str, template: str, context: dict[str, object], doctree: object
) -> None:
    """Screen readers and the choice of a font go by the language of a page; its side bar has no other one."""
    del app, template, doctree
    chinese = name.startswith("zh/")
    if chinese:
        context["language"] = "zh-CN"
    if tree := str(context.get("furo_navigation_tree", "")):
        context["furo_navigation_tree"] = _PART.sub(
            lambda part: (
                part[0]
                if part[1] == "中文文档" or bool(_CHINESE.search(part[1])) == chinese
                else ""
            ),
            tree,
        )


def setup(app: Sphinx) -> None:
    """Called by Sphinx."""
    app.add_search_language(SearchBoth)
    app.connect("html-page-context", say_language, priority=900)  # after that of furo
