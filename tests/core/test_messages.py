"""A message says its values as they are, whatever is beside them; its own blanks go between Chinese and Chinese."""

from __future__ import annotations

from gettext import NullTranslations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from healthcheck.text.messages import Message, joined, msg

ANYTHING = st.text(st.sampled_from(" \x00\ufffd端口，a1"), max_size=6)
CHINESE = {"{a} of {b}": "{b} 的 {a}", "{a} ({b})": "{a}（{b}）", ", ": "、", " ": " "}


class Catalogue(NullTranslations):
    def gettext(self, message: str) -> str:
        return CHINESE.get(message, message)


@given(ANYTHING, ANYTHING, st.sampled_from(["{a} of {b}", "{a} ({b})"]))
def test_a_value_stays_byte_for_byte_whatever_it_is(first: str, second: str, template: str) -> None:
    message = msg(template, a=first, b=second)
    for said in (message, message.said(Catalogue())):
        assert first in said
        assert second in said


@given(st.lists(ANYTHING, max_size=4), st.sampled_from([", ", " ", ""]))
def test_parts_stay_byte_for_byte(parts: list[str], separator: str) -> None:
    message = joined(separator, parts)
    for said in (message, message.said(Catalogue())):
        assert all(part in said for part in parts)


@pytest.mark.parametrize(
    ("message", "said"),
    [
        (msg("{a} of {b}", a="端口", b="服务器"), "服务器的端口"),
        (msg("{a} of {b}", a="port", b="服务器"), "服务器的 port"),
        (msg("{a} of {b}", a="端口", b="server"), "server 的端口"),
        (msg("{a} of {b}", a="端口 ", b=" 服务器"), " 服务器的端口 "),
        (joined(" ", ["端口", "服务器", "a"]), "端口服务器 a"),
        (joined(", ", []), ""),
    ],
)
def test_a_blank_of_the_template_goes_between_chinese_and_chinese(
    message: Message, said: str
) -> None:
    assert message.said(Catalogue()) == said


@pytest.mark.parametrize(
    "values", [{"a": "one"}, {"a": "one", "c": "two"}, {"a": "one", "b": "two", "c": "three"}]
)
def test_the_keywords_are_the_placeholders(values: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="has the placeholders a, b"):
        msg("{a} of {b}", **values)
