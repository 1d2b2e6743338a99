"""The site's page on known failures lists what the catalogue knows, in both languages."""

from __future__ import annotations

import pytest

from healthcheck.stages.service.catalogue import catalogue
from healthcheck.text.language import Translate
from tests.docs.site_pages import LANGUAGES, pages, plain


@pytest.mark.parametrize(("prefix", "say"), LANGUAGES.items(), ids=("en", "zh"))
def test_every_failure_is_there_once_with_its_repair(prefix: str, say: Translate) -> None:
    page = pages()[f"{prefix}known-failures.md"]
    for failure in catalogue().failures:
        before, _, entry = page.partition(f"\n### {failure.id}\n")
        assert before.count(f"\n### {failure.id}\n") + entry.count(f"\n### {failure.id}\n") == 0
        said = plain(entry.partition("\n## ")[0].partition("\n### ")[0])
        assert plain(failure.examples[0]) in said
        assert plain(say(failure.cause)) in said
        assert plain(say(failure.fix)) in said
