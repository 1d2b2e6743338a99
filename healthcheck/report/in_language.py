"""A page in another language: what stands between its tags, and what is read aloud, is translated text by text.

The markup stays as it was, and a translated text is escaped again, so that nothing that others wrote becomes
markup.
"""

from __future__ import annotations

import html
import re
from html.parser import HTMLParser

from healthcheck.phrases import ENGLISH, Phrases

QUOTED = frozenset({"code", "pre", "script", "style"})
_SPOKEN = re.compile(r"(?<= )(aria-label|title)=\"([^\"]*)\"")


def page_in_language(page: str, phrases: Phrases) -> str:
    """The page with every text that the phrases know; code, logs and data stay."""
    if phrases is ENGLISH:
        return page
    translator = _Translator(phrases)
    translator.feed(page)
    translator.close()
    return "".join(translator.made)


class _Translator(HTMLParser):
    def __init__(self, phrases: Phrases) -> None:
        super().__init__(convert_charrefs=False)
        self.made: list[str] = []
        self._phrases = phrases
        self._text: list[str] = []
        self._quoted = 0
        self._kept = ""
        """The tag of the element whose text is not to be translated; none of its like is inside."""

    def handle_data(self, data: str) -> None:
        self._text.append(data)

    def handle_entityref(self, name: str) -> None:
        self._text.append(f"&{name};")

    def handle_charref(self, name: str) -> None:
        self._text.append(f"&#{name};")

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._flush()
        self._quoted += tag in QUOTED
        self._kept = self._kept or (tag if ("translate", "no") in attrs else "")
        self.made.append(f'<html lang="{self._phrases.tag}">' if tag == "html" else self._tag())

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        del tag, attrs
        self._flush()
        self.made.append(self._tag())

    def handle_endtag(self, tag: str) -> None:
        self._flush()
        self._quoted -= tag in QUOTED
        self._kept = "" if tag == self._kept else self._kept
        self.made.append(f"</{tag}>")

    def handle_comment(self, data: str) -> None:
        self._flush()
        self.made.append(f"<!--{data}-->")

    def handle_decl(self, decl: str) -> None:
        self._flush()
        self.made.append(f"<!{decl}>")

    def close(self) -> None:
        super().close()
        self._flush()

    def _flush(self) -> None:
        raw = "".join(self._text)
        self._text.clear()
        self.made.append(raw if self._quoted or self._kept else self._said(raw))

    def _tag(self) -> str:
        return _SPOKEN.sub(self._attribute, self.get_starttag_text() or "")

    def _said(self, raw: str) -> str:
        text = html.unescape(raw)
        said = self._phrases.say(text)
        return raw if said == text else html.escape(said)

    def _attribute(self, found: re.Match[str]) -> str:
        return f'{found[1]}="{self._said(found[2])}"'
