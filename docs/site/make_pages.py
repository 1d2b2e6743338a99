"""Writes the pages of the site into a folder: those of docs/, and what the code says of itself in both languages.

python docs/site/make_pages.py build/pages

Three pages of docs/ go on where the repository's readers find a link: `checks`, `known-failures`, `probe-options`.
"""

from __future__ import annotations

import posixpath
import re
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

import check_pages
import failure_entries
import option_tables

import hatch_build  # beside pyproject.toml, where an editable installation looks
from healthcheck.text.language import Language, translation
from healthcheck.verify import catalogue

DOCS = Path(__file__).resolve().parents[1]
PREFIXES = {Language.ENGLISH: "", Language.CHINESE: "zh/"}
"""Where the pages of a language are, below docs/."""
_OUTSIDE = re.compile(r"\[(?P<text>[^\]]*)\]\((?P<path>(?:\.\./)+[^)\s#]+)(?P<anchor>#[^)\s]*)?\)")


def pages() -> dict[str, str]:
    """The text of each page by its place in the site."""
    found = {
        path.relative_to(DOCS).as_posix(): path.read_text("utf-8") for path in DOCS.rglob("*.md")
    }
    for language, prefix in PREFIXES.items():
        say = translation(language).look_up
        checks = [catalogue.in_language(page, say) for page in catalogue.pages()]
        found[f"{prefix}checks.md"] += check_pages.index(checks, say)
        found[f"{prefix}known-failures.md"] += failure_entries.text(say)
        found[f"{prefix}probe-options.md"] += option_tables.text(say)
        for page in checks:
            place = f"{prefix}checks/{page.id}.md"
            source = posixpath.relpath(page.source, posixpath.dirname(f"docs/{place}"))
            found[place] = check_pages.text(page, say, source)
    sources = {page.source: f"checks/{page.id}.md" for page in catalogue.pages()}
    address = hatch_build.address(DOCS.parent)
    return {place: _linked(place, text, sources, address) for place, text in found.items()}


def _linked(place: str, text: str, sources: Mapping[str, str], address: str) -> str:
    """Links to files beside docs/ lead to the page of the check that the file declares, else to the repository.

    They are plain text where the repository has no address.
    """
    prefix = "zh/" if place.startswith("zh/") else ""

    def replaced(link: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join("docs", posixpath.dirname(place), link["path"]))
        if target.startswith("docs/"):
            return link[0]
        page = prefix + sources.get(target, "")
        if page not in {prefix, place}:
            return f"[{link['text']}]({posixpath.relpath(page, posixpath.dirname(place))})"
        anchor = link["anchor"] or ""
        return (
            f"[{link['text']}]({address}/blob/main/{target}{anchor})" if address else link["text"]
        )

    return _OUTSIDE.sub(replaced, text)


def main(folder: Path) -> None:
    """Make the folder, with the pictures and the files that the pages offer."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(DOCS, folder, ignore=shutil.ignore_patterns("site", "*.md"))
    for place, text in pages().items():
        path = folder / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
