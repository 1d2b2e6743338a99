"""The language of texts for a person. Ids, JSON keys, code and quoted text are not translated.

A message is looked up by its English text in the gettext catalogue of the language,
healthcheck/locale/LANGUAGE/LC_MESSAGES; `make messages` keeps the catalogues up to date.
"""

from __future__ import annotations

import gettext
import os
import re
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from pathlib import Path

from healthcheck.text.messages import Catalogue, Message, message, msg, say

DOMAIN = "npu-adapter"
VARIABLE = "NPU_ADAPTER_LANG"
LOCALE = Path(__file__).parents[1] / "locale"
Translate = Callable[[str], str]
_WIDE = r"\u3000-\u303f\u4e00-\u9fff\uff00-\uffef"
_PIECE = re.compile(rf"[（《“]*(?:[{_WIDE}“”]|[^\s{_WIDE}“”]+)[、。，；：？！）》”]* ?")
_FENCED = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)


class Language(str, Enum):
    """A language, by its code in the name of a locale."""

    ENGLISH = "en"
    CHINESE = "zh"


TAGS = {Language.ENGLISH: "en", Language.CHINESE: "zh-CN"}
"""The language tags of HTML."""


def of_the_user(environment: Mapping[str, str]) -> Language:
    """The language of NPU_ADAPTER_LANG, else that of the locale as gettext finds it, else English."""
    chosen = environment.get(VARIABLE, "")
    if chosen in set(Language):
        return Language(chosen)
    names = ("LC_ALL", "LC_MESSAGES", "LANG")
    locale = next((value for name in names if (value := environment.get(name, ""))), "C")
    if locale.partition(".")[0] in {"C", "POSIX"}:
        return Language.ENGLISH
    wanted = environment.get("LANGUAGE", "").split(":")[0] or locale
    return (
        Language.CHINESE if wanted.lower().startswith(Language.CHINESE.value) else Language.ENGLISH
    )


@dataclass(frozen=True, eq=False)
class Translation:
    """The kit's texts in one language.

    Attributes:
        tag: the language tag of HTML.
        catalogue: from English templates to those of the language.
    """

    tag: str
    catalogue: Catalogue

    def say(self, text: str) -> str:
        """The translation of a message; any other text unchanged."""
        return say(text, self.catalogue)

    def look_up(self, text: str) -> str:
        """The translation of a message, or of a constant text of the kit that is a whole template."""
        return self.say(message(text))

    def labelled(self, label: Message, text: str) -> str:
        """A translated label and a text."""
        return self.say(msg("{label}: {text}", label=label, text=text))


ENGLISH = Translation("en", gettext.NullTranslations())


@lru_cache
def translation(language: Language) -> Translation:
    """The translation into a language, from its gettext catalogue."""
    if language is Language.ENGLISH:
        return ENGLISH
    return Translation(
        TAGS[language], gettext.translation(DOMAIN, LOCALE, [language.value], fallback=True)
    )


def translation_of_the_process() -> Translation:
    """The translation for the user who started this process."""
    return translation(of_the_user(os.environ))


def translated(text: str, say: Translate) -> str:
    """Translate a text paragraph by paragraph, and list item by list item, each as one line; code stays."""
    return "".join(
        part if part.startswith("```") else _prose(part, say) for part in _FENCED.split(text)
    )


def _prose(text: str, say: Translate) -> str:
    """Translate paragraphs and list items, and keep the empty lines between them."""
    inner = text.strip("\n")
    if not inner:
        return text
    before, _, after = text.partition(inner)
    parts = [_paragraph(part, say) for part in re.split(r"(\n\n+|\n(?=- ))", inner)]
    return before + "".join(parts) + after


def _paragraph(part: str, say: Translate) -> str:
    message = " ".join(part.split())
    said = say(message) if message else message
    return part if said == message else said


def wrapped(text: str, width: int) -> list[str]:
    """Break a text into lines of at most `width` columns; Chinese may break between any two characters.

    A word that is wider than a line gets a line of its own.
    """
    lines, line, columns = [], "", 0
    for word in _PIECE.findall(" ".join(text.split())):
        wide = sum(1 + is_wide(character) for character in word)
        if columns + len(word.rstrip()) + wide - len(word) > width and line.strip():
            lines.append(line.rstrip())
            line, columns = "", 0
        line, columns = line + word, columns + wide
    return [*lines, line.rstrip()]


def is_wide(character: str) -> bool:
    """Whether a character takes two columns, like Chinese characters and punctuation."""
    return unicodedata.east_asian_width(character) in "WF"
