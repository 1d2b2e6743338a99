"""The pages of checks, of all of them and of those with a result."""

from __future__ import annotations

from dataclasses import replace

from healthcheck.core.records import CheckResult, Outcome
from healthcheck.verify.catalogue import Page, pages, pages_of


def result_of(page: Page) -> CheckResult:
    return CheckResult(
        id=page.id, stage=page.stage, title=page.title, outcome=Outcome.FAIL, why=page.why
    )


def test_each_result_has_the_page_of_its_check() -> None:
    for page in pages():
        assert pages_of([result_of(page)]) == (page,)
    assert pages_of(map(result_of, pages())) == pages()


def test_a_result_of_an_unknown_check_has_no_page() -> None:
    page = pages()[0]
    assert pages_of([replace(result_of(page), id="repo/unknown")]) == ()
