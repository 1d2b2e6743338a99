"""Links of the documents lead somewhere, and documents in two languages keep step."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from tests.docs.blocks import ROOT, blocks, commands, documents

ENGLISH_AND_CHINESE = ["README.md README.zh-CN.md", "docs/first-adapter.md docs/zh/first-adapter.md"]
ALL = [*documents(), *sorted((ROOT / "docs/checks").rglob("*.md"))]
LINK = re.compile(r"\]\((?P<target>[^)\s]+)\)")
HEADING = re.compile(r"^(#+) (.*)$", re.MULTILINE)


def text_of(path: Path) -> str:
    return re.sub(r"```.*?```", "", path.read_text("utf-8"), flags=re.DOTALL)


def anchors(path: Path) -> set[str]:
    titles = (title for _, title in HEADING.findall(text_of(path)))
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("document", ALL, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_resolve(document: Path) -> None:
    for target in LINK.findall(text_of(document)):
        if target.startswith(("http://", "https://")):
            continue
        name, _, anchor = target.partition("#")
        place = (document.parent / name).resolve() if name else document
        assert place.exists(), f"{document}: {target}"
        assert not anchor or anchor in anchors(place), f"{document}: {target}"


@pytest.mark.parametrize("document", documents(), ids=lambda path: path.name)
def test_files_that_are_named_are_there(document: Path) -> None:
    named = re.findall(
        r"`((?:docs|scripts|healthcheck|tests|examples|benchmarks|\.ci)/[\w/.-]+)`", text_of(document)
    )
    if document.name == "adding-a-check.md":
        named = [name for name in named if "no_weights" not in name]
    assert [name for name in named if not (ROOT / name).exists()] == []


@pytest.mark.parametrize("pair", ENGLISH_AND_CHINESE)
def test_both_languages_keep_step(pair: str) -> None:
    english, chinese = (ROOT / name for name in pair.split())
    assert commands(english) == commands(chinese)
    levels = [[level for level, _ in HEADING.findall(text_of(path))] for path in (english, chinese)]
    assert levels[0] == levels[1]
    links = [
        [
            link.replace("docs/zh/", "docs/")
            for link in LINK.findall(text_of(path))
            if "README" not in link or "/" in link
        ]
        for path in (english, chinese)
    ]
    assert links[0] == links[1]
    tables = [len(re.findall(r"^\|", text_of(path), re.MULTILINE)) for path in (english, chinese)]
    assert tables[0] == tables[1]
    transcripts = [[block.body for block in blocks(path) if not block.language] for path in (english, chinese)]
    assert transcripts[0] == transcripts[1]


def test_pictures_are_whole_and_need_no_network() -> None:
    pictures = sorted((ROOT / "docs/pictures").glob("*.svg"))
    assert pictures
    for picture in pictures:
        text = picture.read_text("utf-8")
        ET.fromstring(text)  # our own file
        assert not re.search(r"url\(\"?http|href=\"http|@import", text), picture
