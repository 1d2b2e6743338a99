"""The gettext catalogues: a translation has the places of its template, and a message is found wherever it stands."""

from __future__ import annotations

import importlib
from gettext import NullTranslations
from pathlib import Path

import pytest

from healthcheck.text.language import Language
from healthcheck.text.messages import Message, names
from tests.support.catalogues import translations
from tests.support.template import ROOT

VALUES = (1, 1.5, "x")
"""A place may ask for an integer, for a number with digits, or for a text."""


def with_places() -> list[tuple[str, str]]:
    """Templates that have places, and what is said for them."""
    said = (
        pair for language in set(Language) - {Language.ENGLISH} for pair in translations(language)
    )
    return [(template, text) for template, text in said if has_places(template)]


def has_places(template: str) -> bool:
    """Braces of JSON or of a shell are no places, nor are those that the page's script fills."""
    try:
        found = names(template)
    except ValueError:
        return False
    return bool(found) and all(map(str.isidentifier, found)) and bool(fitting(template, template))


def wrong(template: str, said: str) -> str:
    """What is wrong with a translation, "" for nothing."""
    try:
        if set(names(template)) != set(names(said)):
            return f"has {names(said)}, not {names(template)}"
    except ValueError as error:
        return str(error)
    return (
        ""
        if fitting(template, said) >= fitting(template, template)
        else "cannot hold what the template can"
    )


def fitting(template: str, said: str) -> set[object]:
    """The values that can be said."""
    return {value for value in VALUES if formatted(template, said, value)}


class Only(NullTranslations):
    """A catalogue that says one thing for everything."""

    def __init__(self, said: str) -> None:
        super().__init__()
        self.said = said

    def gettext(self, message: str) -> str:
        return self.said


def formatted(template: str, said: str, value: object) -> bool:
    try:
        Message(template, *[value] * len(names(template))).said(Only(said))
    except (ValueError, KeyError):
        return False
    return True


def test_a_translation_has_the_places_of_its_template() -> None:
    messages = with_places()
    assert len(messages) > 500
    assert {
        template: problem for template, said in messages if (problem := wrong(template, said))
    } == {}


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
            'SAYS = msg("port {port}", port=msg("no port"))\nNOT = print("other")',
            {"port {port}", "no port"},
        ),
        ("new.py", 'messages.joined(" and ", parts)', {" and "}),
        ("new.py", 'plural("{n} run", "{n} runs", n, n)', {("{n} run", "{n} runs")}),
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
