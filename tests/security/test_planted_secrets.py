"""No format of a report contains a planted secret."""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TypeVar

import pytest

from healthcheck.cli import output
from healthcheck.core.ledger import Ledger
from healthcheck.core.progress import Silent
from healthcheck.core.records import CheckResult, Finding, Level, Outcome, Report
from healthcheck.core.stages import Stage
from healthcheck.report import lines, page, terminal
from healthcheck.stages.probe.records import RequestOptions
from healthcheck.stages.probe.run.secret_headers import headers_of, hiding, hiding_in_errors
from healthcheck.text.redact import without_secrets
from healthcheck.text.secret_shapes import REMOVED
from tests.security.planted import PLANTED, Planted
from tests.support import reports
from tests.support.daily import every
from tests.support.repositories import repository

Item = TypeVar("Item")
OTHERS = ("because", "expected", "fix", "where", "evidence")
"""The fields of a result besides `seen` that quote something."""


def batched(items: Sequence[Item], size: int) -> Iterator[Sequence[Item]]:
    return (items[begin : begin + size] for begin in range(0, len(items), size))


def leaked(text: str, planted: Sequence[Planted]) -> list[str]:
    """The rules whose secret, or a good part of it, is in the text."""
    return [each.rule for each in planted if any(part in text for part in parts(each.secret))]


def parts(secret: str) -> Iterator[str]:
    size = min(len(secret), 10)
    return (secret[begin : begin + size] for begin in range(len(secret) - size + 1))


def test_no_planted_secret_stays(subtests: pytest.Subtests) -> None:
    for planted in PLANTED:
        with subtests.test(planted.rule):
            shown = without_secrets(f"before\n{planted.line}")
            assert REMOVED in shown
            assert shown.startswith("before\n")
            assert not leaked(shown, [planted])


def words_of(planted: Planted) -> list[str]:
    """The words of a command line, with an option and its value separate."""
    return (
        planted.line.split(" ")
        if planted.line[2:3].isalpha() and planted.line.startswith("--")
        else [planted.line]
    )


def test_no_line_of_a_key_stays_where_its_beginning_is_cut_off_or_its_lines_stand_apart() -> None:
    lines_ = [planted.secret * 3 for planted in PLANTED if len(planted.secret) == 24][:2]
    assert len(lines_) == 2
    log = f"{lines_[0][:64]}\n{lines_[1][:64]}\nQ2hlY2s7\n-----END PRIVATE KEY-----\nnext"
    shown = without_secrets(log)
    assert not [line for line in log.split("\n")[:3] if line in shown]
    assert shown.endswith("-----END PRIVATE KEY-----\nnext")
    assert REMOVED in without_secrets(lines_[0][:64])


def quoting(chunk: Sequence[Planted]) -> Report:
    """A report that quotes each line wherever a report quotes something; MARK… precedes it."""
    results = []
    for number, planted in enumerate(chunk):
        said = {name: f"MARK-{name}-{number} {planted.line}" for name in ("seen", *OTHERS)}
        command = ["vllm", "serve", f"MARK-argv-{number}", *words_of(planted)]
        finding = Finding(
            level=Level.FAIL, expected=said["expected"], seen=said["seen"], fix=said["fix"], where=said["where"],
            evidence={"line": said["evidence"], "deeper": {"command": command}},
        )  # fmt: skip
        fields = {"stage": Stage.PLAN, "title": "A title", "why": "A reason."}
        results += [
            CheckResult(
                id=f"plan/quotes-{number}", outcome=Outcome.FAIL, findings=(finding,), **fields
            ),
            CheckResult(
                id=f"plan/breaks-{number}", outcome=Outcome.ERROR, because=said["because"], **fields
            ),
        ]
    first = chunk[0].line
    ledger = Ledger(Silent())
    ledger.add(results)
    ledger.stopped = f"MARK-stopped {first}"
    return ledger.report(
        f"probe of {first}",
        {"accuracy": {"value": 0.5, "low": 0.4, "high": 0.6, "question": first}},
        {
            "model": first,
            "server": first,
            "command": ["npu-adapter", *words_of(chunk[0])],
            "launch": {
                "outcome": "ended",
                "seconds": 1.0,
                "phases": [{"name": first, "at_s": 1.0}],
            },
        },
    )


def published(report: Report, place: Path, run: object = None) -> dict[str, str]:
    """The text of a report in each of a command's outputs."""
    place.mkdir(exist_ok=True)
    (place / "steps.md").touch()
    kept = {"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(place / "steps.md")}
    before = {name: os.environ.get(name) for name in kept}
    os.environ.update(kept)
    found = {}
    try:
        for name, quiet, target in (
            ("terminal", False, place / "a.json"), ("brief", True, None), ("standard output", False, Path("-")),
        ):  # fmt: skip
            options = argparse.Namespace(
                json=target, junit=place / "junit.xml", quiet=quiet, verbose=False
            )
            out, err = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.StringIO()
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                output.publish(options, report, place / "out", run)  # type: ignore[arg-type]
            out.flush()
            found[name] = out.buffer.getvalue().decode()  # type: ignore[attr-defined]
            found["annotations"] = err.getvalue()
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})
    files = (place / "a.json", place / "junit.xml", place / "steps.md", *(place / "out").iterdir())
    return found | {file.name: file.read_text("utf-8") for file in files}


FORMATS = {"terminal", "brief", "standard output", "annotations", "a.json", "junit.xml", "steps.md", "report.json",
           "report.html", "summary.md"}  # fmt: skip
CHUNKS = list(batched(PLANTED, 10))


@pytest.mark.parametrize("chunk", every(12, CHUNKS))
def test_no_format_has_a_planted_secret(chunk: Sequence[Planted], tmp_path: Path) -> None:
    shown = published(quoting(chunk), tmp_path)
    assert shown.keys() == FORMATS
    for name, text in shown.items():
        unbroken = "".join(text.split()) if name == "terminal" else text
        assert not leaked(unbroken, chunk), name
        marks = range(len(chunk))[: 5 if name == "annotations" else None]
        assert all(f"MARK-seen-{number}" in text for number in marks), f"{name} quotes them"
    for place in OTHERS:
        assert f"MARK-{place}-9" in shown["report.json"] or len(chunk) < 10


def test_the_page_has_no_secret_of_an_answer_or_an_error_of_the_server() -> None:
    text = "\n".join(planted.line for planted in PLANTED)
    run = reports.run(answer=text)
    errors = [replace(sample, text="", error=f"HTTP 500 {planted.line}", retried=(planted.line,), faults=(planted.line,))
              for sample, planted in zip(run.samples, PLANTED, strict=False)]  # fmt: skip
    noted = replace(run, samples=tuple(errors), stopped=f"MARK {PLANTED[0].line}")
    for shown in (run, noted):
        html = page.render(reports.report(), shown).decode()
        assert REMOVED in html
        assert not leaked(html, PLANTED)


@pytest.mark.parametrize("listener", [lines.LineProgress, terminal.TerminalProgress])
def test_progress_has_none(listener: type, capsys: pytest.CaptureFixture[str]) -> None:
    for planted in PLANTED[::9]:
        progress = listener()
        progress.stage(Stage.PROBE, f"MARK {planted.line}")
        progress.update(f"MARK {planted.line}", done=1, total=1)
        progress.note(f"MARK {planted.line}")
        progress.close()
    said = capsys.readouterr().err
    assert "MARK" in said
    assert not leaked("".join(said.split()), PLANTED)


def test_there_are_enough() -> None:
    assert len({planted.secret for planted in PLANTED}) >= 300


def run_kit(*words: str, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        (sys.executable, "-I", "-m", "healthcheck", *words),
        cwd="/", env={**os.environ, **env}, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip


def outlets(place: Path) -> tuple[tuple[str, ...], dict[str, str]]:
    """The options that enable every output, and the environment."""
    (place / "steps.md").touch()
    words = (
        "--verbose",
        "--json",
        str(place / "a.json"),
        "--junit",
        str(place / "junit.xml"),
        "--out",
        str(place / "out"),
    )
    return words, {"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(place / "steps.md")}


def shown_by(done: subprocess.CompletedProcess[str], place: Path) -> dict[str, str]:
    files = (
        place / "a.json",
        place / "junit.xml",
        place / "steps.md",
        *(place / "out").glob("*.*"),
    )
    written = {file.name: file.read_text("utf-8") for file in files}
    assert {
        "a.json",
        "junit.xml",
        "steps.md",
        "report.json",
        "report.html",
        "summary.md",
    } <= written.keys()
    return {"standard output": done.stdout, "standard error": done.stderr, **written}


def dry_run(script: str, place: Path) -> dict[str, str]:
    root = repository(place / "r", {"deploy.sh": f"#!/bin/bash\n{script}"})
    (place / "w").mkdir()
    options, env = outlets(place)
    words = (
        "--weights",
        str(place / "w"),
        "--until",
        "plan",
        "--env",
        "NAKED_API_KEY=correct-horse-battery",
    )
    done = run_kit("verify", str(root), *words, *options, env=env)
    assert done.returncode == 1, done.stderr
    return shown_by(done, place)


@pytest.mark.process
@pytest.mark.parametrize("begin", every(24, range(24)))
def test_whole_runs_that_say_secrets_pass_none_on(begin: int, tmp_path: Path) -> None:
    """An error, a trace and a variable that all quote secrets, in one run."""
    chunk = PLANTED[begin::24]
    said = "".join(f"cat >&2 <<'END'\nMARK Error: {planted.line}\nEND\n" for planted in chunk)
    shown = dry_run(f"set -x\nexport HF_TOKEN=letmein-variable\nset +x\n{said}exit 3\n", tmp_path)
    for name, text in shown.items():
        assert not leaked("".join(text.split()) if name.startswith("standard") else text, chunk), (
            name
        )
        assert "letmein" not in text, name
    for name in ("report.json", "report.html", "junit.xml", "standard output"):
        assert "MARK Error" in shown[name]


@pytest.mark.slow
def test_no_argument_of_the_launch_is_passed_on(tmp_path: Path) -> None:
    shown = dry_run(
        'exec vllm serve "$MODEL_PATH" --api-key letmein-argv --hf-token=letmein-two --port 8001\n',
        tmp_path,
    )
    assert "--api-key" in shown["report.json"]
    assert not [name for name, text in shown.items() if "letmein" in text]


@pytest.fixture
def telling_server() -> Iterator[str]:
    """A server that answers each request with an error that quotes the next few secrets."""
    chunks = batched([planted.line for planted in PLANTED] * 20, 3)

    class Telling(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = "MARK " + "\nMARK ".join(next(chunks))
            self.send_response(500)
            self.send_header("Content-Length", str(len(body.encode())))
            self.end_headers()
            self.wfile.write(body.encode())

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            self.do_GET()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Telling)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.mark.process
@pytest.mark.parametrize(
    "command", [("verify", "--url"), pytest.param(("probe",), marks=pytest.mark.slow)]
)
def test_what_a_server_says_of_secrets_is_not_passed_on(
    command: tuple[str, ...], telling_server: str, tmp_path: Path
) -> None:
    options, env = outlets(tmp_path)
    done = run_kit(
        *command, f"http://{telling_server}/?key=letmein-address", "--model", "m", *options, env=env
    )
    assert done.returncode in {1, 3}, done.stderr
    for name, text in shown_by(done, tmp_path).items():
        assert not leaked(
            "".join(text.split()) if name.startswith("standard") else text, PLANTED
        ), name
        assert "letmein" not in text, name


@pytest.mark.parametrize("planted", PLANTED[::7], ids=lambda planted: planted.rule)
def test_a_key_of_a_probe_is_not_passed_on_whatever_its_shape(planted: Planted) -> None:
    """The variable has any name, the server repeats the value, whole or truncated."""
    key, other = planted.secret.split("\n")[0], "another-horse"
    request = RequestOptions(api_key_env="ENTRANCE", headers_env={"X-Gate": "GATE"})
    environment = {"ENTRANCE": key, "GATE": other}
    assert headers_of(request, environment) == {"Authorization": f"Bearer {key}", "X-Gate": other}
    for hide in (hiding, hiding_in_errors) if len(key) > 8 else (hiding_in_errors,):
        shown = hide(request, environment)(f"wrong key {key}, {other} {key}")
        assert shown == f"wrong key {REMOVED}, {REMOVED} {REMOVED}"
    if len(key) > 8:
        assert (
            hiding(request, environment)(f"it began with {key[:-1]}") == f"it began with {REMOVED}"
        )


@pytest.mark.process
def test_an_error_of_usage_has_none() -> None:
    done = run_kit("verify", "--url", "http://me:letmein-address@127.0.0.1:1", env={})
    assert done.returncode == 2
    assert "letmein" not in done.stdout + done.stderr
