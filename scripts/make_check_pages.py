# ruff: noqa: INP001 - scripts are no package
"""Writes docs/checks/ and docs/zh/checks/: an index and a page for each check, from what the check says of itself.

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
from healthcheck.language import Language, Translate, translation
from healthcheck.messages import Message, msg
from healthcheck.records import Stage

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = {Language.ENGLISH: ROOT / "docs/checks", Language.CHINESE: ROOT / "docs/zh/checks"}
COLUMNS = (msg("check"), msg("what holds where it passes"))
ORIGIN = (
    "<!-- Written by scripts/make_check_pages.py from the check itself. Change the check, then run it again. -->"
)
_SPECIAL = re.compile(r"([\\*_<>\[\]$|])")
_CODE = re.compile(r"(`[^`]*`)")
_NAMED_BLOCK = re.compile(r"^```(\w+) (.+)$", re.MULTILINE)
"""A block of code with its subject, which Markdown does not show."""


def files() -> dict[Path, str]:
    """Every file of the folders and its text."""
    found = {}
    for language, folder in FOLDERS.items():
        say = translation(language).look_up
        pages = tuple(catalogue.in_language(page, say) for page in catalogue.pages())
        found[folder / "README.md"] = index(pages, say)
        found |= {folder / f"{page.id}.md": text(page, say, folder) for page in pages}
    return found


def index(pages: tuple[Page, ...], say: Translate) -> str:
    """All checks, stage by stage, in the order in which they run."""
    parts = [ORIGIN, f"# {say(msg('The checks'))}", say(_about(len(pages)))]
    for stage, group in groupby(sorted(pages, key=_place), key=lambda page: page.stage):
        rows = (f"| [{page.id}]({page.id}.md) | {escaped(page.title)} |" for page in group)
        header = " | ".join(map(say, COLUMNS))
        parts += [f"## {stage}", "\n".join((f"| {header} |", "|---|---|", *rows))]
    return "\n\n".join(parts) + "\n"


def _about(count: int) -> Message:
    return msg(
        "{count} checks, in the order in which they run. `npu-adapter explain ID` prints the same pages.", count
    )


def _place(page: Page) -> int:
    return list(Stage).index(Stage(page.stage))


def text(page: Page, say: Translate, folder: Path) -> str:
    """The page of a check, which is already in the language."""
    return "\n\n".join(_parts(page, say, folder)) + "\n"


def _parts(page: Page, say: Translate, folder: Path) -> Iterator[str]:
    up = "../" * page.id.count("/")
    top = up + "../" * len(folder.relative_to(ROOT).parts)
    yield ORIGIN
    yield f"# {page.id}"
    stage = f"{say(msg('Stage'))} [{page.stage}]({up}README.md#{page.stage})"
    yield f"**{say(_sentence(escaped(page.title)))}** {say(_sentence(stage))}"
    yield say(catalogue.because(escaped(page.why)))
    yield escaped(_captioned(page.body))
    if page.rule:
        yield say(page.ruled("")).strip()
        yield f"> {escaped(page.rule.sentence)}"
        yield f"{page.rule.source}, {page.rule.status.value}, read {page.rule.read_on}."
    if page.requires:
        needed = ", ".join(f"[{each}]({up}{each}.md)" for each in page.requires)
        yield say(_sentence(catalogue.needing(needed)))
    yield say(_sentence(catalogue.declared(f"[{page.source}]({top}{page.source})")))


def _sentence(text: str) -> Message:
    return msg("{sentence}.", text)


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
    there = {path for folder in FOLDERS.values() for path in folder.rglob("*.md")}
    stale = [path for path, page in wanted.items() if path not in there or path.read_text("utf-8") != page]
    stale += sorted(there - wanted.keys())
    if options.check:
        for path in stale:
            print(f"out of date: {path.relative_to(ROOT)}", file=sys.stderr)
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
