"""What a report says is translated by its messages; what others wrote stays."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from healthcheck.check import fail
from healthcheck.language import Language, phrases
from healthcheck.phrases import ENGLISH, Phrase, Phrases
from healthcheck.quoting import quote
from tests.support.rows import rows

CHINESE = phrases(Language.CHINESE)
SMALL = Phrases(
    "xx",
    {
        "port {}": "门 {}",
        "port {} ({})": "门 {}（{}）",
        "the server listens on {}, not on {}": "服务器在 {1} 而不在 {0}",
        "{} of {}": "{}/{}",
        "{} warning{s}": "{} 个警告",
        "write {{{}}} in one line": "在一行里写 {{{}}}",
        "; the dry run was {}": "；试运行 {}",
        "nothing": "没有",
        "Look at the port, or lower {}.": "查看端口，或降低 {}。",
        "{} In the script, set {}.": "{}在脚本里设置 {}。",
        "the work is over ({})": "工作已结束（{}）",
        "read the log": "看日志",
        "look for the line that says why it ended": "找出说明结束原因的那一行",
    },
    {"A braces {title}": "标题 {title}"},
)


@rows(
    ("text", "said"),
    [
        ("port 8080", "门 8080"),
        ("port 8080 (--port 8080): vllm serve", "门 8080（--port 8080）：vllm serve"),
        ("the server listens on nothing, not on port 80", "服务器在 门 80 而不在 没有"),
        ("3 warnings", "3 个警告"),
        ("1 warning", "1 个警告"),
        ("3 of 40", "3/40"),
        ("write {a} in one line", "在一行里写 {a}"),
        ("ready; the dry run was confined", "ready；试运行 confined"),
        ("deploy.sh:7: read the log", "deploy.sh:7: 看日志"),
        ("read the log. nothing", "看日志。没有"),
        ("read the log\n  port 1", "看日志\n  门 1"),
        ("A braces {title}", "标题 {title}"),
        ("2 nothing", "2 没有"),
        ("port 1 (a); port 2 (b)", "门 1（a）；门 2（b）"),
        (" · nothing", " · 没有"),
        ("Look at the port, or lower a. In the script, set b.", "查看端口，或降低 a。在脚本里设置 b。"),
        ("the work is over (port 1; here); port 2", "工作已结束（门 1; here）；门 2"),
        ("the keys are name, nothing, model", "the keys are name, nothing, model"),
        ("the keys are, nothing, port 1", "the keys are，没有，门 1"),
        ("half of them went home", "half of them went home"),
        ("", ""),
    ],
)
def test_a_sentence_is_known_by_its_message(text, said):
    assert SMALL.say(text) == said


@given(st.text("port {}of(). ;:,nothing\n", max_size=80))
def test_any_text_comes_back(text):
    assert ENGLISH.say(text) == text
    SMALL.say(text)


QUOTES = st.text("port 1(). ;:,nothing\n\U000f0000", min_size=1, max_size=40) | st.sampled_from(
    ["port 1", "nothing"]
)


@given(QUOTES, QUOTES)
def test_what_is_marked_as_quoted_comes_back(one, other):
    said = SMALL.say(f"the server listens on {quote(one)}, not on {quote(other)}")
    assert said == f"服务器在 {other} 而不在 {one}"
    assert ENGLISH.say(f"nothing: {quote(one)}") == f"nothing: {one}"


@pytest.mark.parametrize(
    ("text", "quotes", "said"),
    [
        ("read the log; port 1 (a); nothing", ["port 1 (a)"], "看日志；port 1 (a)；没有"),
        ("port 8080 (nothing)", ["nothing"], "门 8080（nothing）"),
        ("report 1 and port 1", ["port 1"], "report 1 and port 1"),
        ("nothing", [], "没有"),
    ],
)
def test_what_a_finding_quotes_comes_back(text, quotes, said):
    assert SMALL.beside(quotes).say(text) == said


def test_a_finding_takes_the_marks_out_and_keeps_what_they_marked():
    found = fail(
        expected="a port",
        seen=f"it said: {quote('port 1')}; {quote(f'over {quote(2 * chr(10))}')}",
        fix="read it",
        evidence={"said": [quote("x")]},
    )
    assert found.seen == "it said: port 1; over \n\n"
    assert found.evidence == {"said": ["x"]}
    assert "port 1" in found.quotes
    assert replace(found, fix="look").quotes == found.quotes


@given(
    st.lists(st.text("ab {}%(", max_size=6), min_size=3, max_size=3),
    st.sampled_from(["{} ({}) {}", "{}{}x{}", "a{}{}"]),
)
def test_the_values_make_the_text_again(values, message):
    phrase = Phrase.of(message, "")
    text = message.format(*values)
    found = phrase.values(text)
    assert found is not None
    assert message.format(*found) == text


def test_a_text_of_any_length_is_bounded():
    long = "port 1; " * 10_000
    assert SMALL.say(long) == long


def test_a_translation_takes_the_values_of_its_message():
    wrong = []
    for phrase in CHINESE._open:
        values = [f"<{place}>" for place, name in enumerate(phrase.names) if name == ""]
        said = phrase.said.format(*values)
        wrong += [phrase.message for value in values if said.count(value) != 1]
    assert len(CHINESE._open) > 500
    assert wrong == []
