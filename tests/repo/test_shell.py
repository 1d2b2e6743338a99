"""The lexer never fails, loses nothing, and knows code from text."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from healthcheck.repo import bashisms, shell
from healthcheck.repo.shell import Kind

PIECES = ("$(", "${", "$((", "(", ")", "}", '"', "'", "`", "\\", "\n", " ", "a", "=", "<<E", "E", "#", "case ", "in ",
          "esac", ";;", "[[ ", " ]]", "((", "))", "&", "|", ";", "<(", "\\\n", "é")  # fmt: skip


@given(st.lists(st.sampled_from(PIECES), max_size=60).map("".join))
def test_any_text_gives_tokens_with_true_places(text: str):
    script = shell.read(text)
    for token in script.tokens:
        assert 0 <= token.start < token.end <= len(text)
        assert text[token.start : token.end] == token.text
    outer = [token for token in script.tokens if not token.depth]
    assert all(one.end <= other.start for one, other in itertools.pairwise(outer))
    between = [text[one.end : other.start] for one, other in itertools.pairwise(outer)]
    assert not "".join(between).replace("\\\n", "").strip(" \t)"), "only blanks and continuations are no tokens"
    script.commands()
    bashisms.find(script)


@given(st.text(max_size=300))
def test_any_text_at_all(text: str):
    bashisms.find(shell.read(text))


@pytest.mark.parametrize(
    "text",
    ["$(" * 60_000, "${" * 60_000, '"${' * 40_000, "((" * 60_000, "`" * 100_001, "a=(" * 40_000, "<<E " * 9_000],
)
def test_hostile_nesting_ends_long_before_the_time_limit_of_a_test(text: str):
    tokens = shell.read(text).tokens
    assert tokens[-1].end <= len(text)


def words(text: str) -> list[list[str]]:
    return [[word.text for word in command.words] for command in shell.read(text).commands()]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("vllm serve x --port 8000", [["vllm", "serve", "x", "--port", "8000"]]),
        ("a \\\n  b # c\nd", [["a", "b"], ["d"]]),
        ("a > log 2>&1 b &", [["a", "b"]]),
        ("cat <<E\n--port 1\nE\nb", [["cat"], ["b"]]),
        ("cat <<'E' | tee x\n$(\nE\nb", [["cat"], ["tee", "x"], ["b"]]),
        ("cat <<-E\n\tx\n\tE\nb", [["cat"], ["b"]]),
        ("x=$(f <<E\n)\nE\n)\nb", [["x=$(f <<E\n)\nE\n)"], ["b"]]),
        ("case $1 in --port) a;; (-h|b) c;; esac; d", [["case", "$1", "in"], ["a"], ["c"], ["esac"], ["d"]]),
        ("if a; then b; fi", [["a"], ["b"], ["fi"]]),
        ('A=1 b \'c d\' "e $(f "g") h"', [["A=1", "b", "'c d'", '"e $(f "g") h"']]),
        ("a=(--x 1 # y\n --z)\nb", [["a=(--x 1 # y\n --z)"], ["b"]]),
        ("[[ $a =~ ^(x|y)$ ]] && b", [["[["], ["b"]]),
        ("a;b&&c||d|e", [["a"], ["b"], ["c"], ["d"], ["e"]]),
        ("echo $((1<<2)) `x`", [["echo", "$((1<<2))", "`x`"]]),
        ("a b#c #d", [["a", "b#c"]]),
    ],
)
def test_commands(text: str, expected: list[list[str]]):
    assert words(text) == expected


def test_comments_and_here_documents_are_no_code():
    script = shell.read("# a $(b)\ncat <<E\nc # d\nE\n")
    kinds = {token.text: token.kind for token in script.tokens}
    assert kinds["# a $(b)"] is Kind.COMMENT
    assert kinds["c # d\nE\n"] is Kind.HEREDOC


@pytest.mark.parametrize(
    "text",
    [
        "source x", "[[ a ]]", "a=(1 2)", 'echo "${a[@]}"', "a+=b", "f &> log", "cat <<< x", "diff <(a) <(b)",
        "(( i++ ))", "echo ${x//a/b}", "echo ${x:0:3}", "echo ${x^^}", "echo ${!x}", "echo {1..3}", "echo {a,b}.txt",
        "echo $'a\\n'", "function f { x; }", "declare -a x", "shopt -s x", "set -euo pipefail", "wait -n",
        "trap x ERR", "[ a == b ]", "cd ${BASH_SOURCE%/*}",
    ],
)  # fmt: skip
def test_a_bashism_is_found(text: str):
    assert bashisms.find(shell.read(f"x=1\n{text}\n")), text
    assert bashisms.find(shell.read(f"x=1\n{text}\n"))[0].line == 2


@pytest.mark.parametrize(
    "text",
    [
        ". ./x", "[ a = b ]", "echo ${x:-a} ${x#a} ${x%%b} ${x:+y} ${#x} $# $1", "f() { x; }", "echo $(( 1 + 2 ))",
        "set -eu", "f > log 2>&1", "cat <<E\n[[ x ]]\nE", "# source x", "echo 'source x; a=(1)'", "echo '${x//a/b}'",
        "awk '{print $1, $2}'", "echo '{\"a\": 1, \"b\": 2}'", "wait", "trap x EXIT", "echo \"{'a','b'}\"",
        "python3 -c 'x = [[1]]'", 'x --config={"a":1}', "find . -exec rm {} \\;",
    ],
)  # fmt: skip
def test_posix_is_no_bashism(text: str):
    assert bashisms.find(shell.read(text)) == ()
