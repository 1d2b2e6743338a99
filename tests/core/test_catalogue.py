"""The gettext catalogues: a translation has the places of its template, and a message is found wherever it stands."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest
from babel.messages.pofile import read_po

from healthcheck.language import DOMAIN, LOCALE, Language
from healthcheck.messages import Message, names
from tests.support.template import ROOT

VALUES = (1, 1.5, "x")
"""A place may ask for an integer, for a number with digits, or for a text."""


def with_places() -> list[tuple[str, str]]:
    """Templates that have places, and what is said for them."""
    found = []
    for language in set(Language) - {Language.ENGLISH}:
        with (LOCALE / language.value / "LC_MESSAGES" / f"{DOMAIN}.po").open("rb") as file:
            known = read_po(file, locale=language.value)
        said = [(str(each.id), str(each.string)) for each in known if each.id and each.string and not each.fuzzy]
        found += [(template, text) for template, text in said if has_places(template)]
    return found


def has_places(template: str) -> bool:
    """Braces of JSON or of a shell are no places, nor are those that the page's script fills."""
    try:
        found = names(template)
    except ValueError:
        return False
    return bool(found) and all(map(str.isidentifier, found)) and bool(fitting(template, template))


def wrong(template: str, said: str) -> str:
    """What is wrong with a translation, "" for nothing. `s` stands for a plural, which Chinese does not have."""
    try:
        if set(names(template)) - {"s"} != set(names(said)) - {"s"}:
            return f"has {names(said)}, not {names(template)}"
    except ValueError as error:
        return str(error)
    return "" if fitting(template, said) >= fitting(template, template) else "cannot hold what the template can"


def fitting(template: str, said: str) -> set[object]:
    """The values that can be said."""
    return {value for value in VALUES if formatted(template, said, value)}


def formatted(template: str, said: str, value: object) -> bool:
    try:
        Message(template, *[value] * len(names(template))).said({template: said})
    except (ValueError, KeyError):
        return False
    return True


def test_a_translation_has_the_places_of_its_template() -> None:
    messages = with_places()
    assert len(messages) > 500
    assert {template: problem for template, said in messages if (problem := wrong(template, said))} == {}


@pytest.mark.parametrize(
    ("template", "said"),
    [("{a} of {b}", "{b}"), ("{a}", "{c}"), ("{a}", "{a"), ("{a}", "{a:q}"), ("{a:s}", "{a:d}")],
)
def test_a_translation_that_cannot_be_said_is_noticed(template: str, said: str) -> None:
    assert wrong(template, said)


@pytest.mark.parametrize(
    ("name", "text", "messages"),
    [
        (
            "new/part.py",
            'SAYS = msg("port {port}" if port else "no port", port)\nNOT = print("other")',
            {"port {port}", "no port"},
        ),
        ("new.py", 'messages.joined(" and ", parts)', {" and "}),
        ("report/new.html.j2", '{{ msg("{count} runs", count) }} <p>other</p>', {"{count} runs"}),
    ],
)
def test_a_message_in_a_new_file_is_found(
    name: str, text: str, messages: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "healthcheck" / name
    file.parent.mkdir(parents=True)
    file.write_text(text)
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    found = importlib.import_module("make_messages").template(tmp_path)
    assert {each.id for each in found if each.id} == messages
