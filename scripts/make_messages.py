# ruff: noqa: INP001 - scripts are no package
"""Brings the gettext catalogues in healthcheck/locale up to date with the messages of the kit.

python scripts/make_messages.py            write them; list the messages that have no translation yet
python scripts/make_messages.py --check    write nothing; exit 1 if a catalogue is out of date or incomplete

A translation is written into the .po file by hand; the .mo file beside it, which gettext reads, is made from it.
"""

from __future__ import annotations

import argparse
import io
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po
from make_check_pages import LABELS
from report_messages import messages as messages_of_reports
from terminal_messages import messages as messages_of_terminals

from healthcheck import catalogue
from healthcheck.cli import COMMANDS, man, parser_for
from healthcheck.language import DOMAIN, LOCALE, REPORT, Language

NO_DATE = datetime(2000, 1, 1, tzinfo=timezone.utc)
"""The headers' dates would differ in every run."""


@dataclass(frozen=True)
class Made:
    """A catalogue as it should be, and the messages that it does not translate yet."""

    files: dict[Path, bytes]
    missing: list[str]


def helps(parser: argparse.ArgumentParser) -> Iterator[str]:
    """Every text in the help of a command and of those below it."""
    yield from filter(None, (parser.description, parser.epilog))
    for group in parser._action_groups:  # noqa: SLF001 - argparse shows it nowhere else
        yield from filter(None, (group.title, group.description))
    for action in parser._actions:  # noqa: SLF001
        yield from filter(None, [action.help])
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            yield from (command.help for command in action._choices_actions if command.help)  # noqa: SLF001
            for command in action.choices.values():
                yield from helps(command)


def messages() -> dict[str, list[str]]:
    """Every message, with the checks that say it."""
    found: dict[str, list[str]] = {label: [] for label in (*catalogue.LABELS, *LABELS)}
    found |= {text: ["--help"] for text in ("usage: ", *helps(parser_for(COMMANDS)))}
    found |= {text: ["man"] for text in man.SAID}
    for page in catalogue.pages():

        def note(message: str, check: str = page.id) -> str:
            found.setdefault(message, []).append(check)
            return message

        catalogue.in_language(page, note)
    return found


def made(language: Language) -> Made:
    """The catalogue of a language with today's messages; a translation stays with its message."""
    place = LOCALE / language.value / "LC_MESSAGES" / f"{DOMAIN}.po"
    known = read_po(io.BytesIO(place.read_bytes() if place.exists() else b""), locale=language.value)
    new = Catalog(
        locale=language.value, project="npu-adapter-kit", version="", header_comment="", msgid_bugs_address="",
        creation_date=NO_DATE, revision_date=NO_DATE, last_translator="", language_team="", fuzzy=False,
    )  # fmt: skip
    plain = messages()
    said = messages_of_terminals() | messages_of_reports()
    contexts = {None: plain, REPORT: {text: said[text] for text in sorted(said) if text not in plain}}
    for context, found in contexts.items():
        for message, places in found.items():
            old = known.get(message, context)
            new.add(message, old.string if old else "", auto_comments=sorted(set(places)), context=context)
    text, compiled = io.BytesIO(), io.BytesIO()
    write_po(text, new, width=116)
    write_mo(compiled, new)
    missing = [str(each.id) for each in new if each.id and not each.string]
    return Made({place: text.getvalue(), place.with_suffix(".mo"): compiled.getvalue()}, missing)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    wrong = 0
    for language in set(Language) - {Language.ENGLISH}:
        new = made(language)
        for message in new.missing:
            print(f"{language.value}: no translation of {message!r}", file=sys.stderr)
        stale = {
            place: data for place, data in new.files.items() if not place.exists() or place.read_bytes() != data
        }
        wrong += len(new.missing) + len(stale)
        for place, data in stale.items():
            if options.check:
                print(f"out of date: {place.relative_to(LOCALE)}", file=sys.stderr)
                continue
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(data)
        print(f"{language.value}: {len(new.missing)} messages without a translation")
    return int(options.check and wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
