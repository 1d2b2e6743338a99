"""The translations of a catalogue, from its source."""

from __future__ import annotations

from babel.messages.pofile import read_po

from healthcheck.text.language import DOMAIN, LOCALE, Language


def translations(language: Language) -> list[tuple[str, str]]:
    """Pairs of a template (its plural, if it has one) and its translation."""
    with (LOCALE / language.value / "LC_MESSAGES" / f"{DOMAIN}.po").open("rb") as file:
        known = read_po(file, locale=language.value)
    return [
        (str(each.id[-1]), str(each.string[-1]))
        if each.pluralizable
        else (str(each.id), str(each.string))
        for each in known
        if each.id and each.string and not each.fuzzy
    ]
