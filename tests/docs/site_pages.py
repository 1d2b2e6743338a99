"""The pages of the documentation site, as docs/site/make_pages.py makes them."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from pathlib import Path

import pytest

from healthcheck.text.language import Language, Translate, translation
from tests.docs.blocks import ROOT

ADDRESS = "https://example.org/us/kit"
"""Of the repository."""
LANGUAGES: dict[str, Translate] = {
    "": translation(Language.ENGLISH).look_up,
    "zh/": translation(Language.CHINESE).look_up,
}
"""What is before the place of a page in each language, and its words."""


@functools.cache
def pages() -> dict[str, str]:
    """The text of each page by its place."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NPU_ADAPTER_ADDRESS", ADDRESS)
        return script("pages")()


def written(folder: Path) -> Path:
    """The folder with the pages in it, for Sphinx."""
    script("main")(folder)
    return folder


def script(name: str) -> Callable[..., dict[str, str]]:
    """A function of the script."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "docs/site"))
        return getattr(importlib.import_module("make_pages"), name)


def plain(text: str) -> str:
    """The words of a page on one line, without the signs that keep Markdown from reading them."""
    return " ".join(text.replace("\\", "").split())
