"""Other languages: who gets which, and all that is not prose as it was."""

import re
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from healthcheck.text.language import Language, of_the_user, translated, translation, wrapped
from healthcheck.verify import catalogue
from tests.support.catalogues import translations

ROOT = Path(__file__).resolve().parents[2]
OTHERS = [language for language in Language if language is not Language.ENGLISH]
FIXED = re.compile(
    r"`[^`]+`|(?<![\w-])--[a-z][\w-]+|\{\}|%%|%\(\w+\)[a-z]|\b[A-Z]+(?:_[A-Z]+)+\b|\b[\w-]+\.(?:py|json|toml|sh|txt|md)\b",
    re.ASCII,
)
"""Code, options, placeholders, variables and files."""


def run(*arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("language", OTHERS)
def test_what_is_not_prose_stays(language):
    messages = translations(language)
    assert len(messages) > 500
    for message, said in messages:
        assert fixed(said) == fixed(message), (message, said)


def fixed(message: str) -> set[str]:
    """What stays; the places of a report's message may be numbered, and have a test of their own."""
    context, _, text = message.partition("\x04")
    return set(FIXED.findall(re.sub(r"\{\w?\}", "", text or context)))


@pytest.mark.parametrize("language", OTHERS)
def test_pages_are_translated_and_keep_their_examples(language):
    """A new one has its translation by the next release, which `make_messages.py --release` demands."""
    code = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
    pages = [
        (page, catalogue.in_language(page, translation(language).look_up))
        for page in catalogue.pages()
    ]
    assert sum(page.title != other.title for page, other in pages) > 80
    assert [
        page.id for page, other in pages if code.findall(other.body) != code.findall(page.body)
    ] == []


@pytest.mark.parametrize(
    ("variables", "language"),
    [
        ({}, Language.ENGLISH),
        ({"LANG": "zh_CN.UTF-8"}, Language.CHINESE),
        ({"LANG": "de_DE.UTF-8"}, Language.ENGLISH),
        ({"LANG": "zh_CN.UTF-8", "LC_ALL": "C.UTF-8"}, Language.ENGLISH),
        ({"LANG": "en_US.UTF-8", "LC_MESSAGES": "zh_CN.UTF-8"}, Language.CHINESE),
        ({"LANG": "en_US.UTF-8", "LANGUAGE": "zh_CN:en"}, Language.CHINESE),
        ({"LANG": "C", "LANGUAGE": "zh_CN"}, Language.ENGLISH),
        ({"LANG": "en_US.UTF-8", "NPU_ADAPTER_LANG": "zh"}, Language.CHINESE),
        ({"LANG": "zh_CN.UTF-8", "NPU_ADAPTER_LANG": "en"}, Language.ENGLISH),
        ({"LANG": "zh_CN.UTF-8", "NPU_ADAPTER_LANG": "xx"}, Language.CHINESE),
    ],
    ids=str,
)
def test_the_language_of_a_locale(variables, language):
    assert of_the_user(variables) is language


@given(
    st.lists(st.sampled_from(["a b", "- c", "\n", "\n\n", "```sh\nd\n```", " ", "e"]), max_size=12)
)
def test_a_text_that_nobody_translates_stays(parts):
    text = "\n".join(parts)
    assert translated(text, str) == text


@pytest.mark.process
def test_explain_speaks_the_language_that_is_asked_for():
    page = run("-m", "healthcheck", "explain", "plan/port", "--lang", "zh")
    assert page.stdout.startswith("plan/port：服务器监听 8000 端口\n\n为什么重要：")
    english = run("-m", "healthcheck", "explain", "plan/port", "--lang", "en")
    assert english.stdout.startswith("plan/port: The server listens on port 8000\n")


@pytest.mark.process
def test_the_help_is_in_the_language_of_the_locale(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("LANG", "zh_CN.UTF-8")
    for name in ("LC_ALL", "LC_MESSAGES", "LANGUAGE"):
        monkeypatch.delenv(name, raising=False)
    shown = run("-m", "healthcheck", "verify", "--help").stdout
    assert "\n用法：npu-adapter verify [-h]" in shown
    assert "权重目录；MODEL_PATH 将指向该目录" in shown
    assert all(columns(line) <= 80 for line in shown.splitlines())
    assert (
        "the weights; MODEL_PATH will be this folder"
        in run("-m", "healthcheck", "--lang", "en", "verify", "--help").stdout
    )


def columns(line: str) -> int:
    return sum(1 + (unicodedata.east_asian_width(character) in "WF") for character in line)


@given(st.text("a中，- 。b字", max_size=60), st.integers(8, 30))
def test_lines_are_as_wide_as_asked_and_lose_nothing(text, width):
    lines = wrapped(text, width)
    assert "".join("".join(lines).split()) == "".join(text.split())
    assert all(columns(line) <= width or " " not in line for line in lines)
