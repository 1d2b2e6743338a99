"""TOML from strangers: bounded before the parser, and read like any other below the bounds."""

from __future__ import annotations

from pathlib import Path

import pytest

from healthcheck.errors import UsageError
from healthcheck.stages.probe.options.reading import from_file
from healthcheck.system.toml_text import MAX_DEPTH, MAX_KEY_PARTS, MAX_PARTS, TomlError, load
from tests.support.limited import limited

LONG_KEY = "a." * 2000 + "a"
PLAIN = r"""
# a comment with a.dot, [brackets] and "one quotation mark
"quoted.key with \" and \\" = 'C:\' # no escape in there
text = '''of [lines]
with a.a.a.a = "'''
more = '''two quotation marks at its end'''''
basic = '''''' # nothing
version = 3.11
list = [[1.5, 2.5], ["a.b", {x.y = 1}]]
[tool.other."sub.table"]
when = 1979-05-27T07:32:00.999Z
[[job]]
"""


# Of adapter.toml and pyproject.toml it is a finding: tests/verify/test_settings.py. Of a job file: test_jobs.py.
@pytest.mark.parametrize(
    "text", [f"{LONG_KEY} = 1", f"[{LONG_KEY}]", f"[[{LONG_KEY}]]", f"x = {{{LONG_KEY} = 1}}"]
)
def test_the_file_of_a_probe_is_refused_where_it_is_deep(text: str, tmp_path: Path) -> None:
    (tmp_path / "probe.toml").write_text(f"# one\n\n{text}\n")
    with pytest.raises(
        UsageError,
        match=rf"probe.toml has a key of more than {MAX_KEY_PARTS} .*in line 3, and is not read",
    ):
        from_file(tmp_path / "probe.toml")


@pytest.mark.parametrize(
    ("deepest", "deeper"),
    [
        (".".join("a" * MAX_KEY_PARTS) + "=1", ".".join("a" * (MAX_KEY_PARTS + 1)) + "=1"),
        (
            '""."."' + " . '.'" * (MAX_KEY_PARTS - 2) + "=1",
            '""."."' + " . '.'" * (MAX_KEY_PARTS - 1) + "=1",
        ),
        (
            f"a={'[' * MAX_DEPTH}{']' * MAX_DEPTH}",
            f"a={'[' * (MAX_DEPTH + 1)}{']' * (MAX_DEPTH + 1)}",
        ),
        ("a=[" + "[]," * (MAX_PARTS - 1) + "]", "a=[" + "[]," * MAX_PARTS + "]"),
        (f"a = '{'.[{' * MAX_PARTS}'", f"a = '''{'.[{' * MAX_PARTS}''' . b"),
    ],
)
def test_the_bounds_are_where_they_are_said_to_be(deepest: str, deeper: str) -> None:
    assert load(deepest, "x")
    with pytest.raises(TomlError):
        load(deeper, "x")


def test_strings_and_comments_do_not_count() -> None:
    found = load(PLAIN.replace("\n", "\r\n"), "x")
    assert found["text"] == 'of [lines]\nwith a.a.a.a = "'
    assert found["more"] == "two quotation marks at its end''"
    assert found['quoted.key with " and \\'] == "C:\\"


@pytest.mark.parametrize(
    "text", [b"\xff", "a = 1_" + "1" * 5000, "a = ", '"""', "a = 'x", 'a = "\\']
)
def test_what_is_no_toml_is_said_to_be_none(text: str | bytes) -> None:
    with pytest.raises(TomlError):
        load(text, "x")


@pytest.mark.process
@pytest.mark.parametrize(
    "text",
    [
        "''.join(f'[a{n}.b]\\n' for n in range(50_000))",
        "'[' + '.'.join('a' * 32) + ']\\n' + ''.join(f'a{n}' + '.a' * 31 + '=1\\n' for n in range(3_000))",
        "'a=\"' + '\\\\n' * 500_000 + '\"'",
        "'a = ' + '1' * 10**6",
        "'a.' * 200_000 + 'a = 1'",
        "''.join(f'a{n}=1\\n' for n in range(110_000))",
    ],
)
def test_a_file_of_a_megabyte_has_a_bound_of_memory(text: str) -> None:
    code = f"from healthcheck.system import toml_text\ntry:\n    toml_text.load({text}, 'x')\nexcept toml_text.TomlError:\n    pass"
    done = limited("-c", code)
    assert (done.returncode, done.stderr) == (0, "")


def test_settings_that_are_not_read_leave_the_question_of_one_machine_open() -> None:
    from dataclasses import replace

    from healthcheck.core.records import Outcome
    from healthcheck.stages.plan.checks.one_machine import one_machine
    from tests.fix.test_fix import recorded

    judged = one_machine.judge(replace(recorded(), settings=f"multi_node = 'ray'\n{LONG_KEY} = 1"))
    assert judged.outcome is Outcome.SKIP
    assert not judged.settled
    assert "adapter.toml has a key of more than" in judged.findings[0].seen
