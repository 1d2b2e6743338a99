"""A shell text is read whatever it holds, and code is known from text."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from healthcheck.stages.plan.script import deploy_sh, quotes
from healthcheck.stages.repo import bashisms, shell

PIECES = ("$(", "${", "$((", "(", ")", "}", '"', "'", "`", "\\", "\n", " ", "a", "=", "<<E", "E", "#", "case ", "in ",
          "esac", ";;", "[[ ", " ]]", "((", "))", "&", "|", ";", "<(", "\\\n", "é", "cd /b", "if ", "then ", "$1", "\0")  # fmt: skip


def ask_everything(text: str) -> None:
    bashisms.find(shell.read(text))
    deploy_sh.folder_at(text, 1, "a")
    deploy_sh.stops_at_errors(text, "deploy.sh:1")
    quotes.splits(text, "a")
    deploy_sh.overwriting_line(text, "a")
    deploy_sh.empty_line(text)


@given(st.lists(st.sampled_from(PIECES), max_size=60).map("".join))
def test_any_text_gives_nodes_with_true_places(text: str):
    script = shell.read(text)
    for node in script.nodes:
        assert 0 <= node.start <= node.end <= len(text)
        assert all(node.start <= child.start <= child.end <= node.end for child in node.children)
        assert all(one.end <= other.start for one, other in itertools.pairwise(node.children))
    for command in script.all_commands():
        assert all(text[word.start : word.end] == word.text for word in command.words)
    assert [line.count("\n") for line in (script.without("comment"),)] == [text.count("\n")]
    ask_everything(text)


@given(st.text(max_size=300))
def test_any_text_at_all(text: str):
    ask_everything(text)


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        "$(" * 60_000, "${" * 60_000, '"${' * 40_000, "((" * 60_000, "`" * 100_001, "a=(" * 40_000, "<<E " * 9_000,
        "a|" * 80_000, "a && " * 40_000, "if a; then " * 20_000, "\n" * 200_000, "f() {\n" * 20_000, "a=$b\n" * 40_000,
        "for a in b; do c; done\n" * 10_000, "\\ \n" * 60_000, "'\"" * 60_000, "[[ " * 60_000, "fi ) } ;; done\n" * 15_000,
    ],
    ids=lambda text: text[:8],
)  # fmt: skip
def test_hostile_text_ends_long_before_the_time_limit_of_a_test(text: str):
    ask_everything(text)


def test_what_lies_beyond_a_bound_is_not_read():
    text = "a\n" * shell.MAX_CHARACTERS
    assert shell.read(text).nodes[-1].end <= shell.MAX_CHARACTERS


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
        ("cat <<E more\nx\nE\nb", [["cat", "more"], ["b"]]),
        ("x=$(f <<E\n)\nE\n)\nb", [["x=$(f <<E\n)\nE\n)"], ["b"]]),
        ("case $1 in --port) a;; (-h|b) c;; esac; d", [["a"], ["c"], ["d"]]),
        ("if a; then b; fi", [["a"], ["b"]]),
        ('A=1 b \'c d\' "e $(f "g") h"', [["A=1", "b", "'c d'", '"e $(f "g") h"']]),
        ("a=(--x 1 # y\n --z)\nb", [["a=(--x 1 # y\n --z)"], ["b"]]),
        ("[[ $a =~ ^(x|y)$ ]] && b", [["[["], ["b"]]),
        ("a;b&&c||d|e", [["a"], ["b"], ["c"], ["d"], ["e"]]),
        ("echo $((1<<2)) `x`", [["echo", "$((1<<2))", "`x`"]]),
        ("a b#c #d", [["a", "b#c"]]),
        ("f() { export A=b; }; 模型 é", [["export", "A=b"], ["模型", "é"]]),
        ("a b\r\n", [["a", "b\r"]]),
    ],
)
def test_commands(text: str, expected: list[list[str]]):
    assert words(text) == expected


def test_comments_and_here_documents_are_no_code():
    script = shell.read("# a $(b)\ncat <<E # f\nc # d\nE\n")
    assert [node.text for node in script.of("comment")] == ["# a $(b)", "# f"]
    assert script.without("comment") == " " * 8 + "\ncat <<E    \nc # d\nE\n"


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
