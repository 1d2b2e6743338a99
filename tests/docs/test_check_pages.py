"""The site has a page for each check, in both languages, and it says what the check says."""

from __future__ import annotations

import pytest

from healthcheck.text.language import Translate
from healthcheck.verify import catalogue
from tests.docs.site_pages import LANGUAGES, pages, plain
from tests.support.page_examples import REPAIRED, WITHOUT, example

IN_BOTH_LANGUAGES = pytest.mark.parametrize(("prefix", "say"), LANGUAGES.items(), ids=("en", "zh"))


@IN_BOTH_LANGUAGES
def test_every_check_has_a_page_that_says_what_the_check_says(prefix: str, say: Translate) -> None:
    for page in catalogue.pages():
        text = plain(pages()[f"{prefix}checks/{page.id}.md"])
        assert text.startswith(f"# {say(page.title)} **{page.id}.** ")
        assert say(catalogue.because(page.why)) in text
        paragraphs = [
            part
            for part in catalogue.in_language(page, say).body.split("\n\n")
            if "```" not in part
        ]
        assert paragraphs
        assert [part for part in paragraphs if plain(part) not in text] == []
        assert page.rule is None or f"> {page.rule.sentence}" in text


def test_no_page_is_of_a_check_that_is_gone() -> None:
    of_checks = [place for place in pages() if "checks/" in place]
    assert len(of_checks) == len(LANGUAGES) * len(catalogue.pages())


@IN_BOTH_LANGUAGES
def test_every_check_is_in_the_index(prefix: str, say: Translate) -> None:
    index = plain(pages()[f"{prefix}checks.md"])
    assert all(
        f"| [{page.id}](checks/{page.id}.md) | {say(page.title)} |" in index
        for page in catalogue.pages()
    )


def test_every_page_shows_what_the_check_objects_to_and_the_repair() -> None:
    pages = {page.id: page for page in catalogue.pages()}
    without = {
        name for name, page in pages.items() if not example(page).wrong or REPAIRED not in page.body
    }
    assert without == WITHOUT.keys() & pages.keys()
