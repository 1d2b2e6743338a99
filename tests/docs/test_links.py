"""Links of the documents lead somewhere, and documents in two languages keep step."""

from __future__ import annotations

import posixpath
import re
import xml.etree.ElementTree as ET
from collections import Counter
from pathlib import Path

import pytest

from tests.docs.blocks import ROOT, blocks, commands, documents
from tests.docs.site_pages import ADDRESS, LANGUAGES, pages

FOR_CONTRIBUTORS = (
    "ARCHITECTURE.md",
    "adding-a-check.md",
    "adding-a-release.md",
    "adding-a-stub.md",
    "adding-an-engine.md",
)
NO_TWIN = (
    *FOR_CONTRIBUTORS,
    "glossary.md",
    "index.md",
)  # the glossary has both languages, the Chinese index its own list
CHINESE = {
    "README.md": "README.zh-CN.md",
    **{
        f"docs/{path.name}": f"docs/zh/{path.name}"
        for path in (ROOT / "docs").glob("*.md")
        if path.name not in NO_TWIN
    },
}
LINK = re.compile(r"\]\((?P<target>[^)\s]+)\)")
HEADING = re.compile(r"^(#+) (.*)$", re.MULTILINE)


def text_of(path: Path) -> str:
    return prose(path.read_text("utf-8"))


def prose(text: str) -> str:
    return re.sub(r"```.*?```", "", text, flags=re.DOTALL)


def anchors(text: str) -> set[str]:
    titles = (title for _, title in HEADING.findall(prose(text)))
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def test_links_resolve(subtests: pytest.Subtests) -> None:
    for document in documents():
        with subtests.test(str(document.relative_to(ROOT))):
            for target in LINK.findall(text_of(document)):
                if target.startswith(("http://", "https://")):
                    continue
                name, _, anchor = target.partition("#")
                place = (document.parent / name).resolve() if name else document
                assert place.exists(), f"{document}: {target}"
                assert not anchor or anchor in anchors(place.read_text("utf-8")), (
                    f"{document}: {target}"
                )


def test_links_of_the_site_resolve(subtests: pytest.Subtests) -> None:
    for place in sorted(pages()):
        with subtests.test(place):
            for target in LINK.findall(prose(pages()[place])):
                if target.startswith(ADDRESS):
                    assert (
                        ROOT / target.removeprefix(f"{ADDRESS}/blob/main/").partition("#")[0]
                    ).exists(), target
                elif not target.startswith(("http://", "https://")):
                    name, _, anchor = target.partition("#")
                    page = (
                        posixpath.normpath(posixpath.join(posixpath.dirname(place), name))
                        if name
                        else place
                    )
                    assert page in pages() or (ROOT / "docs" / page).is_file(), target
                    assert not anchor or anchor in anchors(pages()[page]), target


@pytest.mark.parametrize("prefix", LANGUAGES)
def test_the_module_of_a_check_is_its_page_on_the_site(prefix: str) -> None:
    assert (
        "[plan/one-machine](checks/plan/one-machine.md)" in pages()[f"{prefix}several-machines.md"]
    )
    page = pages()[f"{prefix}checks/plan/one-machine.md"]
    assert f"({ADDRESS}/blob/main/healthcheck/stages/plan/checks/one_machine.py)" in page


def test_files_that_are_named_are_there(subtests: pytest.Subtests) -> None:
    for document in documents():
        with subtests.test(str(document.relative_to(ROOT))):
            named = re.findall(
                r"`((?:docs|scripts|healthcheck|tests|examples|benchmarks|\.ci)/[\w/.-]+)`",
                text_of(document),
            )
            if document.name == "adding-a-check.md":
                named = [name for name in named if "no_weights" not in name]
            assert [name for name in named if not (ROOT / name).exists()] == []


@pytest.mark.parametrize("name", sorted(CHINESE))
def test_both_languages_keep_step(name: str) -> None:
    english, chinese = ROOT / name, ROOT / CHINESE[name]
    assert commands(english) == commands(chinese)
    levels = [[level for level, _ in HEADING.findall(text_of(path))] for path in (english, chinese)]
    assert levels[0] == levels[1]
    assert english_links(english) == english_links(chinese)
    tables = [len(re.findall(r"^ *\|", text_of(path), re.MULTILINE)) for path in (english, chinese)]
    assert tables[0] == tables[1]
    transcripts = [
        [block.body for block in blocks(path) if block.language in {"", "text"}]
        for path in (english, chinese)
    ]
    if name == "README.md":  # tests/docs/test_transcript.py has the words of both
        transcripts = [
            [re.findall(r"\d+(?:\.\d+)?", text) for text in texts] for texts in transcripts
        ]
    assert transcripts[0] == transcripts[1]


def english_links(path: Path) -> list[str]:
    """Where the links of a page lead, but for anchors: those of a page and of its twin lead to the same pages."""
    targets = [target.partition("#")[0] for target in LINK.findall(text_of(path))]
    inside = [
        target for target in targets if target and not target.startswith(("http://", "https://"))
    ]
    places = [str((path.parent / target).resolve().relative_to(ROOT)) for target in inside]
    named = [re.sub(r"^docs/zh/", "docs/", place) for place in places]
    return sorted(place for place in named if not place.startswith("README"))


@pytest.mark.parametrize("name", sorted(CHINESE))
def test_every_figure_is_in_both_languages(name: str) -> None:
    english, chinese = (Counter(figures(text_of(ROOT / path))) for path in (name, CHINESE[name]))
    assert english - chinese == Counter()


def figures(text: str) -> list[str]:
    """The numbers of a text, but for those of links and code."""
    words = re.sub(r"\]\([^)]*\)|`[^`]*`|https?:\S+", " ", text)
    return re.findall(r"\d+(?:\.\d+)*", re.sub(r"(?<=\d),(?=\d{3})", "", words))


def test_pictures_are_whole_and_need_no_network() -> None:
    pictures = sorted((ROOT / "docs/pictures").glob("*.svg"))
    assert pictures
    for picture in pictures:
        text = picture.read_text("utf-8")
        ET.fromstring(text)  # our own file
        assert not re.search(r"url\(\"?http|href=\"http|@import", text), picture
