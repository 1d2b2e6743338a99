"""Text of a submission never reaches a GitHub runner as a command, in any form and at any place of a line."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from healthcheck.cli.outlets import Uncommanding
from tests.security.runner import commands
from tests.support.repositories import repository

SAID = (
    "::error file=a::x", "  ::set-output name=verdict::ready", "x ::add-mask::y", "##[error]x", "a ##[set-env name=A]b",
    "::stop-commands::t", "::group::a", "##[group]a", "::::::", "###[warning]x", "::ERROR::x", "##[Error]x", "\t::debug::x",
    "\u3000::warning::x", "\u00a0 ::notice::x", "\u2028::error::x", "\x0b\x0c::error::x", "done\r::error::x", "x\r\n##[debug]y",
    "%0A::error::x", "%0A##[error]x", "\x1b[0m::error::x", "#\x1b[1m#[error]x", "\x1b]0;a\x07::error::x", ":\u2060:error::x",
    "\u200b::error::x", "#\u00ad#[error]x", "##\u200d[error]x", "\ufeff::error::x", "\uff1a\uff1aerror\uff1a\uff1ax",
    "\uff03\uff03[error]x", "::error title=a,file=b::c%0A::error::d", "::add-matcher::a.json", "##[command]x", "::echo::on",
    "##[##[error]x", "::::error::x", ": ::error::x", "::error::##[error]x", "\0::error::x", "::save-state name=a::b",
)  # fmt: skip
OWN = re.compile(
    r"::(?:error|warning) (?:file=deploy\.sh,line=\d+,)?title=\w+/[\w-]+%3A |::error title=\w+/[\w-]+::"
)


@pytest.mark.parametrize("said", SAID)
def test_the_forms_are_commands_or_look_like_one(said: str) -> None:
    """Today's runner ignores some of them; that may change."""
    assert "error" in said or list(commands(said)) or re.search("[:\uff1a]{2}|##", said)


HOW = [
    ("--verbose",),
    ("--json", "-"),
    *(pytest.param(how, marks=pytest.mark.slow) for how in ((), ("--quiet",))),
]


def environment(**more: str) -> dict[str, str]:
    return {**os.environ, "GITHUB_ACTIONS": "true", "COLUMNS": "60", **more}


def not_own(text: str) -> list[str]:
    """The lines of an output, except the kit's own annotations."""
    return [line for line in text.split("\n") if not OWN.match(line)]


def ran(*words: str, stdin: bytes = b"", cwd: str = "/") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        (sys.executable, "-I", "-m", "healthcheck", *words),
        env=environment(), cwd=cwd, input=stdin, capture_output=True, timeout=120, check=False,
    )  # fmt: skip


def judge(done: subprocess.CompletedProcess[bytes]) -> None:
    """Check both streams, also joined as a runner reads them."""
    for stream in (done.stdout, done.stderr, done.stdout + b"\n" + done.stderr):
        left = not_own(stream.decode("utf-8", "replace"))
        assert list(commands("\n".join(left))) == []
        assert not [line for line in left if "##[" in line]


@pytest.mark.process
@pytest.mark.parametrize("how", HOW)
def test_no_command_of_a_submission_leaves(how: tuple[str, ...], tmp_path: Path) -> None:
    body = "\n".join(f"cat >&2 <<'END'\n{line}\nEND" for line in SAID if "\0" not in line)
    root = repository(tmp_path / "r", {"deploy.sh": f"#!/bin/sh\n{body}\nexit 3\n"})
    (tmp_path / "w").mkdir()
    done = ran("verify", str(root), "--weights", str(tmp_path / "w"), "--until", "plan", *how)
    assert done.returncode == 1, done.stderr
    judge(done)
    assert any(OWN.match(line) for line in done.stderr.decode().split("\n"))
    if how == ("--json", "-"):
        assert json.loads(done.stdout)["verdict"] == "not-ready"
    else:
        own_gone = "\n".join(not_own(done.stdout.decode() + done.stderr.decode()))
        assert "::" not in own_gone
        assert "error" in own_gone


@pytest.mark.process
@pytest.mark.parametrize("how", [pytest.param((), marks=pytest.mark.slow), ("--json", "-")])
def test_no_command_of_a_log_leaves(how: tuple[str, ...]) -> None:
    log = "\n".join(
        ("Traceback (most recent call last):", *SAID, "RuntimeError: ::error::x ##[error]y")
    ).encode()
    done = ran("diagnose", "-", *how, stdin=log)
    assert b"Traceback" in done.stdout
    assert b"set-output" in done.stdout
    judge(done)


ARGUMENTS = (
    ("verify", "--url", "##[error]x"), ("explain", "\r::error::x"), ("::error::x",),
    ("verify", "::error::x"), ("probe", "http://h/\n::error::x"),
)  # fmt: skip


@pytest.mark.process
@pytest.mark.parametrize(
    "words",
    [*ARGUMENTS[:2], *(pytest.param(words, marks=pytest.mark.slow) for words in ARGUMENTS[2:])],
)
def test_no_command_of_an_argument_leaves(words: tuple[str, ...]) -> None:
    done = ran(*words)
    assert done.returncode in {2, 3}, done.stderr
    assert b"error" in done.stderr
    judge(done)


@pytest.mark.slow
def test_no_command_of_a_path_leaves(tmp_path: Path) -> None:
    root = repository(
        tmp_path / "a\n::error::x ##[error]b",
        {"deploy.sh": "#!/bin/sh\nexit 3\n", "::error::c": ""},
    )
    (tmp_path / "w\r::error::y").mkdir()
    judge(
        ran(
            "verify",
            str(root),
            "--weights",
            str(tmp_path / "w\r::error::y"),
            "--until",
            "plan",
            "--fix",
        )
    )


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.text(alphabet=st.sampled_from(":#[]a \n\r\u2060\u00ad\ufeff\x1b"))
        | st.sampled_from(SAID)
    )
)
def test_no_command_is_put_together_from_several_writes(parts: list[str]) -> None:
    kept = io.BytesIO()
    stream = Uncommanding(kept, encoding="utf-8", errors="replace", newline="")
    for part in parts:
        stream.write(part)
    stream.flush()
    text = kept.getvalue().decode()
    assert "::" not in text
    assert "##[" not in text
    assert list(commands(text)) == []
    assert text.replace("\u2060", "") == "".join(parts).replace("\u2060", ""), (
        "nothing else is changed"
    )


@pytest.mark.process
def test_no_command_of_a_check_leaves_through_pytest(tmp_path: Path) -> None:
    body = "\n".join(f"cat >&2 <<'END'\n{line}\nEND" for line in SAID if "\0" not in line)
    root = repository(tmp_path / "r", {"deploy.sh": f"#!/bin/sh\n{body}\nexit 3\n"})
    (tmp_path / "t").mkdir()
    done = subprocess.run(
        (sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", "--npu-adapter", str(root), str(tmp_path / "t")),
        env=environment(PYTEST_ADDOPTS="", CI=""), cwd=tmp_path / "t", capture_output=True, timeout=120, check=False,
    )  # fmt: skip
    assert b"error" in done.stdout, done.stdout + done.stderr
    judge(done)
