# ruff: noqa: INP001 - scripts are no package
"""Brings the gettext catalogues in healthcheck/locale up to date with the messages of the kit, by Babel.

python scripts/make_messages.py            write them; list the messages that have no translation yet
python scripts/make_messages.py --check    write nothing; exit 1 if a catalogue is out of date or incomplete

A translation is written into the .po file by hand. That of a message whose words change a little is kept as fuzzy,
and not said until somebody takes that mark away.
"""

from __future__ import annotations

import argparse
import io
import sys
from collections.abc import Mapping
from datetime import datetime, timezone
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.extract import extract_from_dir
from babel.messages.frontend import parse_mapping_cfg
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po

from healthcheck.language import DOMAIN, LOCALE, Language

ROOT = Path(__file__).resolve().parents[1]
KEYWORDS: Mapping[str, None] = {"msg": None, "joined": None}
NO_DATE = datetime(2000, 1, 1, tzinfo=timezone.utc)
"""The headers' dates would differ in every run."""


def template() -> Catalog:
    """Every message, with the files that say it."""
    with (ROOT / "babel.cfg").open(encoding="utf-8") as file:
        methods, options = parse_mapping_cfg(file)
    found = Catalog(project="npu-adapter-kit", header_comment="", fuzzy=False, creation_date=NO_DATE)
    for place, _, message, _, _ in extract_from_dir(ROOT, methods, options, KEYWORDS):
        found.add(message, auto_comments=[place])
    return found


def updated(file: Path, found: Catalog) -> Catalog:
    """The catalogue of a language with today's messages."""
    known = read_po(io.BytesIO(file.read_bytes()), locale=file.parents[1].name)
    known.update(found, update_creation_date=False)
    known.obsolete.clear()
    known.revision_date = NO_DATE
    return known


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    found, wrong = template(), 0
    for language in set(Language) - {Language.ENGLISH}:
        file = LOCALE / language.value / "LC_MESSAGES" / f"{DOMAIN}.po"
        known = updated(file, found)
        text, compiled = io.BytesIO(), io.BytesIO()
        write_po(text, known, width=116, sort_output=True)
        write_mo(compiled, known)
        missing = [str(each.id) for each in known if each.id and (each.fuzzy or not each.string)]
        for message in missing:
            print(f"{language.value}: no translation of {message!r}", file=sys.stderr)
        for place, data in ((file, text.getvalue()), (file.with_suffix(".mo"), compiled.getvalue())):
            stale = place.read_bytes() != data
            wrong += stale
            if stale and options.check:
                print(f"out of date: {place.relative_to(LOCALE)}", file=sys.stderr)
            elif stale:
                place.write_bytes(data)
        print(f"{language.value}: {len(missing)} messages without a translation")
        wrong += len(missing)
    return int(options.check and wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
