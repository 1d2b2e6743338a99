"""The check pages of the site, in Markdown, from what each check says of itself."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import groupby

from markdown_text import escaped, table

from healthcheck.text.language import Translate
from healthcheck.text.messages import Message, msg
from healthcheck.verify import catalogue
from healthcheck.verify.catalogue import Page

COLUMNS = (msg("check"), msg("what holds where it passes"))
_NAMED_BLOCK = re.compile(r"^```(\w+) (.+)$", re.MULTILINE)
"""A block of code with its subject, which Markdown does not show."""


def index(pages: Iterable[Page], say: Translate) -> str:
    """All checks, stage by stage, in the order in which they run."""
    parts = [""]
    for stage, group in groupby(sorted(pages, key=_place), key=lambda page: page.stage.name):
        rows = [(f"[{page.id}](checks/{page.id}.md)", escaped(page.title)) for page in group]
        parts += [f"## {stage}", table([say(column) for column in COLUMNS], rows)]
    return "\n\n".join(parts) + "\n"


def _place(page: Page) -> int:
    return page.stage.place


def text(page: Page, say: Translate, source: str) -> str:
    """The page of a check, which is already in the language. `source` leads to the module."""
    return "\n\n".join(_parts(page, say, source)) + "\n"


def _parts(page: Page, say: Translate, source: str) -> Iterator[str]:
    up = "../" * page.id.count("/")
    yield f"# {escaped(page.title)}"
    label = say(msg("Stage"))
    stage = f"{label} [{page.stage.name}]({up}../checks.md#{page.stage.name})"
    yield f"**{page.id}.** {say(_sentence(stage))}"
    yield say(catalogue.because(escaped(page.why)))
    yield escaped(_captioned(page.body))
    if page.rule:
        yield say(page.ruled("")).strip()
        yield f"> {escaped(page.rule.sentence)}"
        yield f"{page.rule.source}, {page.rule.certainty.value}, read {page.rule.read_on}."
    if page.requires:
        needed = ", ".join(f"[{each}]({up}{each}.md)" for each in page.requires)
        yield say(_sentence(catalogue.needing(needed)))
    yield say(_sentence(catalogue.declared(f"[{page.source}]({source})")))


def _sentence(text: str) -> Message:
    return msg("{sentence}.", sentence=text)


def _captioned(body: str) -> str:
    """The subject of a block of code as a line above it: a file as code, anything else as text."""
    return re.sub(r"(?<=:\n)(?=[^`\n][^\n]*:\n\n```|`[^`])", "\n", _NAMED_BLOCK.sub(_caption, body))


def _caption(block: re.Match[str]) -> str:
    language, subject = block.groups()
    above = f"{subject[0].upper()}{subject[1:]}" if " " in subject else f"`{subject}`"
    return f"{above}:\n\n```{language}"
