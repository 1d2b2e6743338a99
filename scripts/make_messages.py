# ruff: noqa: INP001 - scripts are no package
"""Brings the gettext catalogues in healthcheck/locale up to date with the messages of the kit, by Babel.

python scripts/make_messages.py              write and compile them; list the messages without a translation
python scripts/make_messages.py --check      write nothing; print how many these are
python scripts/make_messages.py --release    the same; exit 1 if there are any

Translations are written into the .po file by hand. If the words of a message change a little, its translation is
kept as fuzzy, and not used until somebody removes that mark.
"""

from __future__ import annotations

import argparse
import sys
from datetime import datetime, timezone
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.extract import extract_from_dir
from babel.messages.frontend import parse_mapping_cfg
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po

from healthcheck.text.language import DOMAIN, LOCALE, Language

FUNCTIONS = {"msg": None, "joined": None, "plural": (1, 2)}
ROOT = Path(__file__).resolve().parents[1]
NO_DATE = datetime(2000, 1, 1, tzinfo=timezone.utc)
"""A fixed date for the headers; otherwise they would change in every run."""


def template(root: Path) -> Catalog:
    """The messages of a folder, with the files that use them."""
    with (ROOT / "babel.cfg").open(encoding="utf-8") as file:
        methods, options = parse_mapping_cfg(file)
    found = Catalog(
        project="npu-adapter-kit", header_comment="", fuzzy=False, creation_date=NO_DATE
    )
    for place, _, message, _, _ in extract_from_dir(root, methods, options, FUNCTIONS):
        found.add(message, auto_comments=[place])
    return found


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--release", action="store_true")
    options = parser.parse_args()
    found, missing = template(ROOT), 0
    for language in set(Language) - {Language.ENGLISH}:
        file = LOCALE / language.value / "LC_MESSAGES" / f"{DOMAIN}.po"
        with file.open("rb") as text:
            known = read_po(text, locale=language.value)
        known.update(found, update_creation_date=False)
        known.obsolete.clear()
        known.revision_date = NO_DATE
        without = [str(each.id) for each in known if each.id and (each.fuzzy or not each.string)]
        if not options.check:
            print(
                *(f"no translation of {message!r}" for message in without),
                sep="\n",
                end="\n" * bool(without),
            )
        if not (options.check or options.release):
            with file.open("wb") as text, file.with_suffix(".mo").open("wb") as compiled:
                write_po(text, known, width=116, sort_output=True)
                write_mo(compiled, known)
        print(f"{language.value}: {len(without)} messages of {len(known)} without a translation")
        missing += len(without)
    return int(options.release and missing > 0)


if __name__ == "__main__":
    sys.exit(main())
