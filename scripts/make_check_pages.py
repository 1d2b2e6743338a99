# ruff: noqa: INP001 - scripts are no package
"""Writes docs/checks/: an index and a page for each check, from what the check says of itself.

python scripts/make_check_pages.py            write them, remove what no check stands behind
python scripts/make_check_pages.py --check    write nothing; exit 1 and list what is out of date
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from healthcheck import catalogue
from healthcheck.catalogue import Page
from healthcheck.records import Stage

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "checks"
ORIGIN = (
    "<!-- Written by scripts/make_check_pages.py from the check itself. Change the check, then run it again. -->"
)
_SPECIAL = re.compile(r"([\\*_<>\[\]$|])")
_CODE = re.compile(r"(`[^`]*`)")
_NAMED_BLOCK = re.compile(r"^```(\w+) (.+)$", re.MULTILINE)
"""A block of code with its subject, which Markdown does not show."""


def files() -> dict[Path, str]:
    """Every file of the folder and its text."""
    pages = catalogue.pages()
    return {FOLDER / "README.md": index(pages), **{FOLDER / f"{page.id}.md": text(page) for page in pages}}


def index(pages: tuple[Page, ...]) -> str:
    """All checks, stage by stage, in the order in which they run."""
    parts = [
        ORIGIN,
        "# The checks",
        f"{len(pages)} checks, in the order in which they run. `npu-adapter explain ID` prints the same pages.",
    ]
    for stage, group in groupby(sorted(pages, key=_place), key=lambda page: page.stage):
        rows = (f"| [{page.id}]({page.id}.md) | {escaped(page.title)} |" for page in group)
        parts += [f"## {stage}", "\n".join(("| check | what holds where it passes |", "|---|---|", *rows))]
    return "\n\n".join(parts) + "\n"


def _place(page: Page) -> int:
    return list(Stage).index(Stage(page.stage))


def text(page: Page) -> str:
    """The page of a check."""
    return "\n\n".join(_parts(page)) + "\n"


def _parts(page: Page) -> Iterator[str]:
    up = "../" * page.id.count("/")
    yield ORIGIN
    yield f"# {page.id}"
    yield f"**{escaped(page.title)}.** Stage [{page.stage}]({up}README.md#{page.stage})."
    yield f"Why it matters: {escaped(page.why)}"
    yield escaped(_captioned(page.body))
    if page.rule:
        yield f"{page.rule_title}:"
        yield f"> {escaped(page.rule.sentence)}"
        yield f"{page.rule.source}, {page.rule.status.value}, read {page.rule.read_on}."
    if page.requires:
        yield "Needs first: " + ", ".join(f"[{needed}]({up}{needed}.md)" for needed in page.requires) + "."
    yield f"In the code: [{page.source}]({up}../../{page.source})."


def _captioned(body: str) -> str:
    """The subject of a block of code as a line above it: a file as code, anything else as text."""
    return re.sub(r"(?<=:\n)(?=[^`\n][^\n]*:\n\n```|`[^`])", "\n", _NAMED_BLOCK.sub(_caption, body))


def _caption(block: re.Match[str]) -> str:
    language, subject = block.groups()
    above = f"{subject[0].upper()}{subject[1:]}" if " " in subject else f"`{subject}`"
    return f"{above}:\n\n```{language}"


def escaped(words: str) -> str:
    """Plain text as Markdown; what stands between backticks stays."""
    parts = _CODE.split(words)
    return "".join(part if part.startswith("`") else _SPECIAL.sub(r"\\\1", part) for part in parts)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    wanted = files()
    there = set(FOLDER.rglob("*.md"))
    stale = [path for path, page in wanted.items() if path not in there or path.read_text("utf-8") != page]
    stale += sorted(there - wanted.keys())
    if options.check:
        for path in stale:
            print(f"out of date: {path.relative_to(FOLDER.parents[1])}", file=sys.stderr)
        return int(bool(stale))
    for path in stale:
        if path in wanted:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(wanted[path], "utf-8")
        else:
            path.unlink()
    print(f"{len(wanted)} pages, {len(stale)} changed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
